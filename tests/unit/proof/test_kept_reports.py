"""Reports of proofs that are kept: listed by pipeline and time, read back, and refused where they are damaged."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sluice.cli.checking.proofs import app
from sluice.errors import CorruptionError, NotReadyError
from sluice.proof.findings import ProofVerdict
from sluice.proof.report import REPORT, ProofReports, id_of, pipeline_of_proof
from tests.twins.console_fleet import HOSTILE
from tests.unit.proof.report_files import add_proofs, newest_proof, proof_ids, report_of

NOW = datetime(2013, 1, 15, 12, tzinfo=UTC)
PIPELINES = ("departures", "departures_by_hour", "arrivals")


def hostile(text: str) -> str:
    return f"{text} {HOSTILE} [bold]\x1b[31m"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    add_proofs(tmp_path / "proofs", PIPELINES, hostile, NOW)
    return tmp_path / "proofs"


def test_an_id_says_whose_proof_it_is_and_sorts_by_time() -> None:
    early, late = (id_of("by_hour_2", datetime(2026, 1, day, tzinfo=UTC), "0000abcd") for day in (9, 10))
    assert early < late
    assert pipeline_of_proof(late) == "by_hour_2"


def test_reports_are_listed_by_pipeline_the_newest_first(folder: Path) -> None:
    (folder / "departures-20130122T000000-0000abcd").mkdir()  # it was killed
    for stranger in ("0000abcd", "departures-20130122T000000-.", "Departures-20130122T000000-0000abcd"):
        (folder / stranger).mkdir()
        (folder / stranger / REPORT).write_text("{}")
    assert ProofReports(folder).ids() == {name: proof_ids(name) for name in sorted(PIPELINES)}
    assert ProofReports(folder / "nowhere").ids() == {}


def test_a_report_is_read_back_with_all_that_it_holds(folder: Path) -> None:
    report = ProofReports(folder).read(newest_proof("departures"))
    assert (report.verdict, report.pipeline, report.ended) == (ProofVerdict.BROKEN, "departures", NOW)
    assert report.findings[0].example == hostile("p1-4499")
    assert report.figures.spans[1].until is not None


def test_a_report_of_another_version_is_read_too(folder: Path) -> None:
    identity = newest_proof("departures")
    least = {"proof": identity, "pipeline": "departures", "verdict": "proven", "late": 7, "faults": [{"name": "x"}]}
    file = folder / identity / REPORT
    file.write_text(json.dumps({**least, "faults": [{"name": "x", "at": 1, "by": "y"}]}))
    report = ProofReports(folder).read(identity)
    assert report.model_extra == {"late": 7}
    assert report.faults[0].evidence == ""


def broken(**parts: Any) -> str:  # noqa: ANN401 - JSON
    identity = newest_proof("departures")
    return json.dumps({**report_of(identity, "departures", ProofVerdict.PROVEN, hostile, NOW), **parts})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "null",
        "\x00",
        broken(verdict="fine"),
        broken(proof="departures-20130122T000000-0000abcd"),
        broken(proof="../x"),
        broken(faults=[{"name": "x", "at": 1e300}]),
        broken(latencies={"raw": {"records": 1, "worst_minute": float("inf"), "p999": 1}}),
        broken(sent={"acknowledged": -1}),
        broken(ended="2013-01-15T12:00:00"),
        broken(figures={"timeline": {"at": [1], "sent": [], "acknowledged": []}}),
        broken(figures=7),
    ],
)
def test_a_damaged_report_is_refused_and_named(folder: Path, text: str) -> None:
    identity = newest_proof("departures")
    (folder / identity / REPORT).write_text(text)
    with pytest.raises(CorruptionError, match=r"report\.json is (no report|the report of another)"):
        ProofReports(folder).read(identity)
    listed = CliRunner().invoke(app, ["list"])
    assert listed.exit_code == 0
    assert "damaged" in listed.output


@pytest.mark.parametrize("identity", ["", "..", "../../etc", "departures", "departures-20130122T000000-0000abcd"])
def test_what_is_no_proof_is_not_found(folder: Path, identity: str) -> None:
    with pytest.raises(NotReadyError, match=r"no (report|id) of a proof"):
        ProofReports(folder).read(identity)


def test_the_command_lists_the_newest_first_and_shows_one_by_its_verdict(folder: Path) -> None:
    assert folder.is_dir()
    run = CliRunner().invoke
    listed = json.loads(run(app, ["list", "-o", "json", "-n", "4"]).stdout)
    assert [each["proof"][-24:-9] for each in listed] == ["20130115T000000"] * 3 + ["20130108T000000"]
    only = json.loads(run(app, ["list", "--pipeline", "arrivals", "-o", "json"]).stdout)
    assert [each["proof"] for each in only] == proof_ids("arrivals")
    codes = {name: run(app, ["show", newest_proof(name)]).exit_code for name in PIPELINES}
    assert codes == {"departures": 1, "departures_by_hour": 4, "arrivals": 0}
    shown = run(app, ["show", newest_proof("departures")])
    assert "departures: broken: an output breaks a promise." in shown.stdout
    assert "What to do: " in shown.stdout
    assert "\x1b" not in shown.stdout
    data = json.loads(run(app, ["show", newest_proof("arrivals"), "-o", "json"]).stdout)
    assert (data["verdict"], data["page"].endswith("report.html")) == ("proven", True)


def test_without_a_proof_the_command_says_how_to_make_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    listed = CliRunner().invoke(app, ["list"])
    assert (listed.exit_code, "sluice prove PIPELINE" in listed.stdout) == (0, True)
