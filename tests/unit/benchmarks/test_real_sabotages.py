"""The projects of real sabotages are sound specs; what the transform does that it must not, no rule of specs sees."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks.proving.real import in_driver
from benchmarks.proving.real.real import azure_of
from benchmarks.proving.real.worlds import NEWS, RAW, ROWS, SABOTAGED, SOUND, RealRun, project_of
from sluice.project.project import Project
from sluice.proof.generation.made import RecordFate
from sluice.proof.journal import SendJournal, SendOutcome, SentRecord
from sluice.proof.judgement import judge
from sluice.proof.observations import (
    Observations,
    ObservedKind,
    ObservedRecord,
    ObservedRecords,
    ObservedRow,
    ObservedRows,
    RowsPromise,
)
from sluice.proof.running.request import ProvenRun
from sluice.settings import Settings
from sluice.topics.records import RecordPosition


@pytest.mark.parametrize("run", [*SOUND, *SABOTAGED], ids=lambda run: f"{run.pipeline}-{len(run.sabotages)}")
def test_each_project_is_sound_as_far_as_specs_say(run: RealRun, tmp_path: Path) -> None:
    home = project_of(run, tmp_path)
    project = Project.open_strict(Settings(home=home, state=tmp_path / "state"))
    assert run.pipeline in project.catalog.pipelines
    main = (home / "spark_jobs/stream.py").read_text(encoding="utf-8")
    ast.parse(main)
    broken = [sabotage.in_driver for sabotage in run.sabotages if sabotage.in_driver]
    assert all(callable(getattr(in_driver, name)) and f"in_driver.{name}()" in main for name in broken)
    for file in (home / "spark_jobs").rglob("*.py"):
        compile(file.read_text(encoding="utf-8"), str(file), "exec")


def test_there_are_enough_of_them_and_each_is_judged_by_its_own_output() -> None:
    assert sum(len(run.sabotages) for run in SABOTAGED) >= 14
    for run in SABOTAGED:
        outputs = [sabotage.output for sabotage in run.sabotages]
        findings = [(sabotage.output, sabotage.found) for sabotage in run.sabotages]
        assert len(set(findings)) == len(findings), outputs


def sent(number: int, fate: RecordFate = RecordFate.GOOD) -> SentRecord:
    place = RecordPosition(0, number)
    return SentRecord(f"r{number}", "p", number, "k", number, f"c{number}", 1.0, SendOutcome.ACKNOWLEDGED, place, fate)


def test_azures_rules_judge_rows_by_the_records_that_belong_into_them() -> None:
    journal = SendJournal(tuple(sent(n, RecordFate.LATE if n == 20 else RecordFate.GOOD) for n in range(40)))
    due = tuple(ObservedRow("k", f"row {n}", RecordPosition(0, n)) for n in range(40) if n != 20)
    raw = ObservedRecords(
        "flights_raw",
        ObservedKind.RAW,
        tuple(ObservedRecord(each.id, each.checksum, each.position, 2.0) for each in journal),
    )

    def found(rows: tuple[ObservedRow, ...]) -> dict[str, frozenset[str]]:
        outputs = (
            ObservedRows(ROWS, RowsPromise.EACH, due, rows),
            ObservedRows(f"prove_1_{NEWS}", RowsPromise.EACH, due, rows),
        )
        seen = Observations(outputs=(raw,), rows=outputs)
        return azure_of(ProvenRun(judge(journal, seen), journal, seen, (), ()))

    sound = found(due)
    assert sound.keys() == {RAW, ROWS, NEWS}
    assert not sound[ROWS] & {"missing", "duplicates"}
    assert found(due[:15] + due[16:])[ROWS] - sound[ROWS] == {"missing"}
    assert found((*due, due[3]))[NEWS] - sound[NEWS] == {"duplicates"}
    assert found(due[:-1]) == sound
