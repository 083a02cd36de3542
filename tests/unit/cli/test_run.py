"""`sluice run`: which pipeline may run, when lines arrived, and how the result is told."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from sluice.cli.run import census, report, run, show
from sluice.errors import SpecError
from sluice.interactive.trial import broker_time
from sluice.quality.preview import JudgedLine, Preview
from sluice.quality.reasons import Outcome, Reason
from sluice.specs.model.model import TopicSpec
from sluice.specs.reading.faults import SpecFaults
from tests.twins.clock import ManualClock
from tests.unit.specs.bench import DEPLOYMENT_FILE, FEED_FILE, PIPELINE, PIPELINE_FILE, Bench, sound_project


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return sound_project(tmp_path)


def test_a_sound_pipeline_runs_whatever_else_is_broken(bench: Bench) -> None:
    bench.edit(FEED_FILE, "name: replay", "name: 7")
    bench.edit(DEPLOYMENT_FILE, "kind: external", "kind: nowhere")
    bench.write("include/pipelines/other.yaml", "name: [")
    specs = bench.scan()
    pipeline = specs.pipeline("sales")
    topic = specs.catalog.topics[pipeline.source]
    assert (pipeline.name, topic.name) == ("sales", "orders")


def test_a_broken_pipeline_shows_its_own_faults_only(bench: Bench) -> None:
    bench.edit(FEED_FILE, "name: replay", "name: 7")
    bench.edit(PIPELINE_FILE, "window: 1 hour", "window: 7 minutes")
    with pytest.raises(SpecFaults) as refusal:
        bench.scan().pipeline("sales")
    assert {fault.file for fault in refusal.value.faults} == {PIPELINE_FILE}


def test_a_static_input_that_is_not_there_is_a_fault_of_the_pipeline(bench: Bench) -> None:
    (bench.home / "include/static/shops.csv").unlink()
    with pytest.raises(SpecFaults, match=r"sales\.yaml:\d+: static\.shops\.path: there is no file"):
        bench.scan().pipeline("sales")


def test_an_unknown_pipeline_is_refused_with_the_names_that_there_are(bench: Bench) -> None:
    bench.write("include/pipelines/broken.yaml", PIPELINE.replace("name: sales", "name: broken").replace("1 hour", "x"))
    with pytest.raises(SpecError, match=r"there is no pipeline 'sale'; the specs have broken, sales\."):
        bench.scan().pipeline("sale")


def by_broker(topic: TopicSpec) -> TopicSpec:
    return topic.model_copy(update={"value": topic.value.model_copy(update={"arrival_time": "broker"})})


def test_the_brokers_time_is_asked_for_only_where_records_do_not_say_it(bench: Bench) -> None:
    topic = bench.scan().catalog.topics["orders"]
    instant = datetime(2013, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    clock = ManualClock()
    assert broker_time(topic, None, clock) == clock.now()
    assert broker_time(topic, instant, clock) == datetime(2013, 1, 1, 10, tzinfo=UTC)
    assert broker_time(by_broker(topic), instant, clock) == datetime(2013, 1, 1, 10, tzinfo=UTC)
    with pytest.raises(SpecError, match=r"takes its arrival time from the broker.*--arrived-at"):
        broker_time(by_broker(topic), None, clock)


def test_a_missing_arrival_time_is_proposed_from_the_sample(bench: Bench) -> None:
    topic = by_broker(bench.scan().catalog.topics["orders"])
    name = topic.value.event_time
    lines = [f'{{"{name}": "2026-05-01T{hour}:30:00.5Z"}}'.encode() for hour in (12, 14, 13)]
    with pytest.raises(SpecError, match=rf"--arrived-at 2026-05-01T14:30:01Z \(the newest {name!r} in the sample\)"):
        broker_time(topic, None, ManualClock(), [*lines, b"no record"])
    with pytest.raises(SpecError, match=rf"--arrived-at YYYY-MM-DDTHH:MM:SSZ, at or after their newest {name!r}"):
        broker_time(topic, None, ManualClock())


FOUND = Preview(
    pipeline="sales",
    lines=(
        JudgedLine(1, Outcome.GOOD, None, {"id": 1, "shop": "[bold]north[/bold] :smile:", "beat": None}, "{...}"),
        JudgedLine(2, Outcome.QUARANTINED, Reason.MALFORMED, {"id": None, "shop": None, "beat": None}, "[1]"),
        JudgedLine(3, Outcome.QUARANTINED, Reason.EMPTY, {"id": None, "shop": None, "beat": None}, ""),
        JudgedLine(4, Outcome.QUARANTINED, Reason.NOT_ALLOWED, {"id": 2, "shop": "west", "beat": None}, "{...}"),
        JudgedLine(5, Outcome.LATE, None, {"id": 3, "shop": "north", "beat": False}, "{...}"),
    ),
    columns={"hour": "timestamp", "sold": "bigint"},
    rows=({"hour": "2013-01-01T10:00:00Z", "sold": 1}, {"hour": "2013-01-01T11:00:00Z", "sold": None}),
)


def told(limit: int | None = None) -> list[str]:
    text = io.StringIO()
    show(FOUND, limit, Console(file=text, width=10_000, soft_wrap=True, highlight=False, emoji=False))
    return [line.rstrip() for line in text.getvalue().splitlines()]


def test_people_see_lines_census_and_rows_with_their_types() -> None:
    assert told() == [
        "line 1  good",
        "    id=1 shop=[bold]north[/bold] :smile:",
        f"line 2  quarantined  malformed: {Reason.MALFORMED.meaning}; {Reason.MALFORMED.what_to_do}",
        "    [1]",
        f"line 3  quarantined  empty: {Reason.EMPTY.meaning}; {Reason.EMPTY.what_to_do}",
        f"line 4  quarantined  not_allowed: {Reason.NOT_ALLOWED.meaning}; {Reason.NOT_ALLOWED.what_to_do}",
        "    id=2 shop=west",
        "line 5  late",
        "    id=3 shop=north beat=false",
        "",
        "5 lines: 1 good, 3 quarantined (1 empty, 1 malformed, 1 not_allowed), 1 late, 0 control",
        "",
        "2 rows of sales:",
        "hour                    sold",
        "timestamp             bigint",
        "2013-01-01T10:00:00Z       1",
        "2013-01-01T11:00:00Z    null",
    ]


def test_a_limit_hides_lines_and_rows_and_says_so_while_all_are_counted() -> None:
    shown = told(limit=1)
    assert shown[:3] == ["line 1  good", "    id=1 shop=[bold]north[/bold] :smile:", "... and 4 more lines"]
    assert census(FOUND) in shown
    assert shown[-2:] == ["2013-01-01T10:00:00Z       1", "... and 1 more row"]
    assert not any("11:00" in line for line in shown)


def test_a_long_line_that_cannot_be_read_is_cut() -> None:
    text = io.StringIO()
    line = JudgedLine(1, Outcome.QUARANTINED, Reason.MALFORMED, {}, "x" * 5_000)
    show(Preview("sales", (line,), {}, ()), None, Console(file=text, width=10_000))
    assert f"{'x' * 200}..." in text.getvalue()
    assert "x" * 201 not in text.getvalue()


def test_programs_get_one_document() -> None:
    document = json.loads(json.dumps(report(FOUND, limit=2)))
    assert document["pipeline"] == "sales"
    assert document["census"] == {
        "lines": 5,
        "outcomes": {"good": 1, "quarantined": 3, "late": 1, "control": 0},
        "reasons": {"empty": 1, "malformed": 1, "not_allowed": 1},
    }
    assert [line["line"] for line in document["lines"]] == [1, 2]
    assert document["lines"][1]["reason"] == "malformed"
    assert document["lines"][1]["meaning"] == Reason.MALFORMED.meaning
    assert document["columns"] == {"hour": "timestamp", "sold": "bigint"}
    assert (document["output_rows"], len(document["rows"])) == (2, 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sale", "--sample", "x"], "there is no pipeline 'sale'"),
        (["sales", "--sample", "nothing.jsonl"], "nothing.jsonl cannot be read"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_starts(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.setenv("SLUICE_HOME", str(bench.home))
    app = typer.Typer()
    app.command()(run)
    with pytest.raises(SpecError, match=words):
        CliRunner().invoke(app, arguments, catch_exceptions=False)
