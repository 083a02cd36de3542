"""What a proof says: of its intervals, as JSON, and as an exit code; and which topics it never removes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from benchmarks.proving.pipeline import ModelPipeline
from benchmarks.proving.sabotages import LosesTheTail
from benchmarks.proving.world import Load, World
from sluice.cli.checking import prove
from sluice.errors import RefusedError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.parity import Counts, IntervalParity, ParityOutcome, ParityReport
from sluice.intervals.backfill.request import Mode
from sluice.kafka.client.removal import OwnTopics
from sluice.project.project import Project
from sluice.proof.judgement import judge
from sluice.proof.observations import ComparedInterval, Observations
from sluice.proof.recording import keeping
from sluice.proof.report import PAGE, ProofReports
from sluice.proof.rows import IDLE
from sluice.proof.running.comparison import of_report
from sluice.proof.running.place import ProofPlace
from sluice.proof.running.request import ProofRequest, ProvenRun, Tell
from sluice.specs.model.model import PipelineSpec

START, HOUR = datetime(2026, 1, 1, tzinfo=UTC), timedelta(hours=1)


def test_a_report_of_a_comparison_becomes_one_fact_per_interval() -> None:
    hours = [Interval(START + n * HOUR, START + (n + 1) * HOUR) for n in range(4)]
    report = ParityReport(
        "b1",
        "departures",
        Mode.VERIFY,
        Interval(START, START + 4 * HOUR),
        "code",
        START,
        intervals=(
            IntervalParity(hours[0], ParityOutcome.IDENTICAL),
            IntervalParity(hours[1], ParityOutcome.DIFFERENT, Counts(different=1, samples=("JFK: 1, 2",)), "why"),
            IntervalParity(hours[2], ParityOutcome.INCONCLUSIVE, why="no rows"),
        ),
        left={hours[3]: "open"},
    )
    found = list(of_report("departures", json.loads(report.to_json())))
    starts = [hour.start.isoformat() for hour in hours]
    assert found == [
        ComparedInterval("departures", starts[0], is_equal=True),
        ComparedInterval("departures", starts[1], is_equal=False, why="JFK: 1, 2"),
        ComparedInterval("departures", starts[2], is_equal=None, why="no rows"),
        ComparedInterval("departures", starts[3], is_equal=None, why="open"),
    ]


def test_intervals_without_a_row_on_either_side_prove_nothing() -> None:
    hours = [Interval(START + n * HOUR, START + (n + 1) * HOUR) for n in range(3)]
    empty = tuple(IntervalParity(hour, ParityOutcome.IDENTICAL) for hour in hours)
    report = ParityReport("b1", "departures", Mode.VERIFY, Interval(START, START + 3 * HOUR), "c", START, empty)
    found = list(of_report("departures", json.loads(report.to_json())))
    assert found[3:] == [ComparedInterval("departures", "all", None, IDLE)]
    one = (replace(empty[0], counts=Counts(identical=1)), *empty[1:])
    report = replace(report, intervals=one)
    assert len(list(of_report("departures", json.loads(report.to_json())))) == 3


def test_a_raw_table_that_does_not_agree_with_kafka_is_a_difference() -> None:
    (found,) = of_report("departures", {"intervals": [], "left": [], "outcome": "raw_mismatch"})
    assert (found.start, found.is_equal) == ("raw records", False)


def proven(pipeline: type[ModelPipeline], *, blind: bool = False) -> ProvenRun:
    world = World(Load(seed=2))
    seen: Observations = pipeline(world).run()
    if blind:
        seen = replace(seen, faults=tuple(replace(fault, evidence="") for fault in seen.faults))
    return ProvenRun(judge(world.journal, seen), world.journal, seen, ("raw", "minutes"), ("latest live",))


@pytest.mark.parametrize(
    ("run", "code", "words"),
    [
        (proven(ModelPipeline), 0, ("proven", "not covered: latest live")),
        (proven(LosesTheTail), 1, ("broken", "the last acknowledged records of a partition are not in the output")),
        (proven(ModelPipeline, blind=True), 4, ("inconclusive", "nothing shows that a requested fault struck")),
    ],
)
def test_the_exit_code_is_the_verdict(
    run: ProvenRun, code: int, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = ProofPlace(tmp_path / "departures-20130115T000000-0000abcd", {"flights": "prove_1_flights"}, "departures")
    asked: list[ProofRequest] = []

    def proof(
        _project: Project,
        spec: PipelineSpec,
        request: ProofRequest,
        _tell: Tell,
        conclude: Callable[[ProofPlace, ProvenRun], object],
    ) -> tuple[ProofPlace, ProvenRun]:
        assert spec.name == "departures"
        asked.append(request)
        conclude(place, run)
        return place, run

    monkeypatch.setattr(keeping, "prove", proof)
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path / "state"))
    app = typer.Typer()
    app.command()(prove.prove)
    arguments = ["departures", "--rate", "7", "--fault", "kill-jvm", "--fault", "kill-driver", "--p999", "3"]
    ended = CliRunner().invoke(app, arguments)
    assert ended.exit_code == code, ended.output
    assert all(word in ended.stdout for word in words)
    (request,) = asked
    assert (request.rate, request.faults, request.bounds.p999) == (7, ("kill-jvm", "kill-driver"), 3)
    report = json.loads(place.report.read_bytes())
    assert report["verdict"] == run.proof.verdict
    assert [finding["fault"] for finding in report["findings"]] == [each.fault for each in run.proof.findings]
    assert all(finding["what_to_do"] for finding in report["findings"])
    kept = ProofReports(tmp_path).read(place.root.name)
    assert (kept.verdict, kept.bounds.p999, kept.sent["acknowledged"]) == (run.proof.verdict, 3, 391)
    page = (place.root / PAGE).read_text(encoding="utf-8")
    assert f"<title>Proof of departures · {run.proof.verdict}</title>" in page
    assert str(place.root / PAGE) in ended.stdout


@pytest.mark.parametrize("names", [["flights"], ["prove_1_flights", "flights"], [""]])
def test_only_topics_of_proofs_are_removed(names: list[str]) -> None:
    topics = OwnTopics(("localhost:1",))
    with pytest.raises(RefusedError, match="no topic that may be removed"):
        topics.remove(["prove_1_flights"])  # without a prefix, none
    topics.prefix = "prove_"
    with pytest.raises(RefusedError, match="no topic that may be removed"):
        topics.remove(names)
