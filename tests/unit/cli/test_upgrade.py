"""`sluice streams upgrade` over the real control database and a twin of the launcher, without Spark."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner, Result

from sluice.cli.streams.commands import app
from sluice.cli.upgrades import command, trial
from sluice.cli.views.backfill_run import BackfillRun
from sluice.errors import RefusedError, SpecError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.backfills import BackfillState
from sluice.intervals.backfill.parity import ParityOutcome
from sluice.intervals.backfill.request import Mode, Request
from sluice.intervals.backfill.trial import RowDifference
from sluice.launch.rehearsal import Rehearsal
from sluice.project.project import Project
from sluice.specs.model.model import PipelineSpec
from sluice.streams.failures.failure import Failure, FailureClass
from sluice.streams.life.launcher import Job
from tests.twins.departures_project import DeparturesProject, hour
from tests.twins.flights_unit import FlightsUnit

UNIT_LINE = "flights: generation 1 keeps the code that it was started with until it is restarted."
COUNTS = {"identical": 4, "missing": 0, "extra": 1, "different": 2, "late": 0, "samples": []}


class Bench(FlightsUnit):
    """A unit that runs the code that was on disk when it was started, and has closed four hours."""

    def __init__(self, place: DeparturesProject, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(place, monkeypatch)
        self.place = place
        self.monkeypatch = monkeypatch
        self.transform = place.home / "spark_jobs" / "transforms" / "departures.py"
        self.project.streams.life("flights").start("ada", "launch")
        place.settle(4, {0: 2, 1: 3, 3: 5})
        self.say_codes(1)

    def say_codes(self, generation: int, *, kept: bool = True) -> None:
        """Write what the driver of a generation writes at its start."""
        project, names = self.place.project, self.project.catalog.unit("flights").pipelines
        codes = {name: project.code_of(name) for name in names}
        if kept:
            for name in names:
                project.code_parts_of(name).keep(project.folder.code)
        file = project.folder.unit_file("flights")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"unit": "flights", "generation": generation, "codes": codes}))

    def edit_transform(self) -> None:
        text = self.transform.read_text(encoding="utf-8")
        self.transform.write_text(f"{text}\n# counts diversions too\n", encoding="utf-8")

    def rehearse(self, exit_code: int = 0, failure: Failure | None = None) -> list[str]:
        """Let rehearsals end in a way, and return the generations that were rehearsed."""
        generations: list[str] = []

        def ended(job: Job, folder: Path) -> Rehearsal:
            generations.append(job.argv[job.argv.index("--generation") + 1])
            return Rehearsal(exit_code, failure, folder / "rehearsal.log")

        self.monkeypatch.setattr(command, "rehearse", ended)
        return generations

    def newest_backfill(self) -> str:
        return self.project.records.backfills().recent(limit=1)[0].id


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(DeparturesProject.create(tmp_path, monkeypatch), monkeypatch)


def upgrade(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["upgrade", "flights", *arguments], catch_exceptions=False)


def words(*arguments: str) -> str:
    answer = upgrade(*arguments)
    assert answer.exit_code == 0
    return " ".join(answer.stdout.split())


def as_json(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(upgrade(*arguments, "-o", "json").stdout)
    return found


@pytest.mark.usefixtures("bench")
def test_a_unit_that_runs_what_is_on_disk_has_nothing_to_upgrade() -> None:
    said = words()
    assert "flights: generation 1 runs the code on disk." in said
    assert "none of 4 closed intervals is stale" in said
    assert "--promote" not in said
    assert as_json()["in_force"] is True


def test_what_changed_is_named_with_what_becomes_stale(bench: Bench) -> None:
    bench.edit_transform()
    said = words()
    assert UNIT_LINE in said
    assert "module spark_jobs/transforms/departures.py" in said
    assert "4 of 4 closed intervals are stale by the code on disk, 2013-01-01T00:00Z to 2013-01-01T04:00Z" in said
    assert "tried not yet." in said
    assert "Next: sluice streams upgrade flights --try, then sluice streams upgrade flights --promote" in said
    found = as_json()["pipelines"]["departures"]
    assert (found["changed"], found["changes"]["modules"]) == (True, ["spark_jobs/transforms/departures.py"])
    assert found["intervals"]["stale"] == 4


def test_a_key_of_a_spec_is_shown_with_both_values(bench: Bench) -> None:
    spec = bench.place.home / "include" / "pipelines" / "departures.yaml"
    text = spec.read_text(encoding="utf-8")
    spec.write_text(text.replace("allowed_lateness: 3 hours", "allowed_lateness: 2 hours"), encoding="utf-8")
    said = words()
    assert "spec pipeline.time.allowed_lateness: 3 hours, now 2 hours" in said


def test_of_code_whose_parts_were_not_kept_nothing_is_guessed(bench: Bench) -> None:
    for file in bench.project.folder.code.glob("*.json"):
        file.unlink()
    bench.edit_transform()
    assert "changed not known: no driver and no backfill has kept the parts of" in words()
    assert as_json()["pipelines"]["departures"]["changes"] is None


def test_each_output_says_what_happens_to_it_and_whether_its_state_is_checked(bench: Bench) -> None:
    bench.edit_transform()
    said = words()
    assert "output intervals departures (stream departures)" in said
    assert "output latest departures_live (stream departures_live)" in said
    assert "whether it has state is not known" in said


@pytest.mark.usefixtures("bench")
def test_what_excludes_each_other_is_refused() -> None:
    with pytest.raises(SpecError, match="exclude each other"):
        upgrade("--try", "--rollback")
    with pytest.raises(SpecError, match="needs a reason"):
        upgrade("--promote", "--why", " ")


@pytest.mark.usefixtures("bench")
def test_code_that_has_written_the_newest_intervals_is_not_tried() -> None:
    assert "nothing was tried: the code on disk has written these intervals" in words("--try")


def finding(bench: Bench, outcome: ParityOutcome, *, code: int = 0) -> list[Request]:
    """Let backfills find something, and return those that are asked for."""
    asked: list[Request] = []

    def run(project: Project, spec: PipelineSpec, request: Request) -> BackfillRun:
        asked.append(request)
        backfills = project.records.backfills()
        claimed = backfills.claim(request, f"try-{len(asked)}", alive=lambda _: False)
        folder = project.folder.backfill(claimed.id)
        folder.mkdir(parents=True)
        interval = {"from": hour(3).isoformat(), "to": hour(4).isoformat(), "outcome": outcome, "why": ""}
        columns = {"added": ["diverted"], "dropped": [], "retyped": []}
        report = {"intervals": [{**interval, **COUNTS}], "columns": columns, "left": []}
        (folder / "parity.json").write_text(json.dumps(report))
        (folder / "parity.html").touch()
        difference = RowDifference(hour(3), {"origin": "EWR"}, 1, 1, {"departed": "5"}, {"departed": "6"})
        (folder / "differences-0.jsonl").write_text(f"{difference.to_json()}\n")
        rows = {"identical": 4, "changed": 2, "only_new": 0, "only_old": 1}
        result = {"code": project.code_of(spec.name), "compared": 1, "rows": rows, "published": 0}
        (folder / "result.json").write_text(json.dumps(result))
        ended = backfills.end(claimed.id, BackfillState.DONE, outcome=outcome, why="")
        return BackfillRun(ended, code, folder / "batch.log")

    bench.monkeypatch.setattr(trial, "run_backfill_process", run)
    bench.rehearse()
    return asked


def test_a_trial_says_first_whether_the_unit_would_start(bench: Bench) -> None:
    bench.edit_transform()
    finding(bench, ParityOutcome.IDENTICAL)
    generations = bench.rehearse()
    assert "flights would start with the code on disk" in words("--try")
    assert generations == ["2"]
    failure = Failure(
        FailureClass.INCOMPATIBLE_STATE, "STATE_STORE", "the schema does not match", hour(0), "departures"
    )
    bench.rehearse(20, failure)
    answer = upgrade("--try")
    said = " ".join(answer.stdout.split())
    assert answer.exit_code == 1
    assert "flights would not start with the code on disk: incompatible state: stream departures: STATE_STORE" in said
    assert "go back to the code that wrote the state" in said
    assert "departures: identical" in said
    assert "--promote" not in said
    assert as_json("--try")["rehearsal"]["exit_code"] == 20


def test_a_trial_shows_the_differences_row_by_row_and_exits_with_one(bench: Bench) -> None:
    bench.edit_transform()
    asked = finding(bench, ParityOutcome.CHANGED)
    answer = upgrade("--try", "--intervals", "2", "--why", "diversions")
    said = " ".join(answer.stdout.split())
    assert answer.exit_code == 1
    assert "departures: changed" in said
    assert "1 interval compared; rows: 4 identical, 2 changed, 0 only new, 1 only old" in said
    assert "columns added: diverted" in said
    assert "2013-01-01T03:00Z origin=EWR: departed 5, now 6" in said
    assert "differences-0.jsonl" in said
    assert "Nothing was published. Next: sluice streams upgrade flights --promote" in said
    (request,) = asked
    assert (request.mode, request.range, request.why) == (Mode.TRY, Interval(hour(2), hour(4)), "diversions")
    assert f"1 interval: changed ({bench.newest_backfill()})" in words()


def test_a_unit_that_never_ran_has_no_start_to_rehearse_and_nothing_to_compare_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FlightsUnit(DeparturesProject.create(tmp_path, monkeypatch), monkeypatch)
    said = words("--try")
    assert "nothing was tried: no interval is closed yet" in said
    assert "flights has no driver that lives" in words()
    assert "intervals none is closed yet." in words()


def test_a_trial_that_finds_the_same_exits_with_zero(bench: Bench) -> None:
    bench.edit_transform()
    finding(bench, ParityOutcome.IDENTICAL)
    found = as_json("--try")["pipelines"]["departures"]
    assert found["intervals"][0] | {"from": "", "to": ""} == {
        "from": "",
        "to": "",
        "outcome": "identical",
        "why": "",
        "identical": 4,
        "changed": 2,
        "only_new": 0,
        "only_old": 1,
    }
    assert upgrade("--try").exit_code == 0


def test_a_trial_that_broke_off_exits_as_its_process_did(bench: Bench) -> None:
    bench.edit_transform()
    finding(bench, ParityOutcome.INCONCLUSIVE, code=3)
    assert upgrade("--try").exit_code == 3


def test_a_trial_of_other_code_is_not_taken_for_one_of_this(bench: Bench) -> None:
    bench.edit_transform()
    finding(bench, ParityOutcome.CHANGED)
    upgrade("--try")
    bench.edit_transform()
    assert "tried not yet." in words()


def test_a_promotion_restarts_the_unit_and_names_the_command_for_what_is_stale(bench: Bench) -> None:
    bench.edit_transform()
    said = words("--promote", "--why", "diversions")
    assert "flights: started, as generation 2" in said
    recompute = "sluice backfill run departures --from 2013-01-01T00:00Z --to 2013-01-01T04:00Z"
    assert f"{recompute} --mode recompute --only stale" in said
    assert bench.launcher.started == ["local.flights.g1", "local.flights.g2"]
    desired = bench.project.streams.life("flights").observe().desired
    assert desired is not None
    assert desired.why == "diversions"


def test_a_second_promotion_of_the_same_code_restarts_nothing(bench: Bench) -> None:
    bench.edit_transform()
    upgrade("--promote", "--why", "diversions")
    bench.say_codes(2)
    assert "generation 2 runs the code on disk already" in words("--promote", "--why", "again")
    assert as_json("--promote", "--why", "again")["promoted"] is False
    assert len(bench.launcher.started) == 2


def test_a_unit_that_is_stopped_is_not_started_by_a_promotion(bench: Bench) -> None:
    bench.edit_transform()
    bench.project.streams.life("flights").stop("ada", "holidays", 5)
    with pytest.raises(RefusedError, match="sluice streams start flights"):
        upgrade("--promote", "--why", "diversions")


def test_before_a_promotion_a_rollback_has_nothing_to_undo(bench: Bench) -> None:
    bench.edit_transform()
    said = words("--rollback")
    assert "1. The code on disk is not in force: generation 1 of flights keeps the code" in said
    assert "also one after a crash" in said
    assert "--promote" not in said


def test_code_that_is_put_back_is_promoted_like_any_other_and_what_it_wrote_is_fresh_again(bench: Bench) -> None:
    former = bench.transform.read_text(encoding="utf-8")
    bench.edit_transform()
    upgrade("--promote", "--why", "diversions")
    bench.say_codes(2)
    said = words("--rollback")
    assert "5. Run that command, `sluice backfill run … --mode recompute --only stale`" in said
    bench.place.settle(6, {4: 2, 5: 1})

    bench.transform.write_text(former, encoding="utf-8")
    found = as_json()["pipelines"]["departures"]
    assert (found["changed"], found["intervals"]["stale"]) == (True, 2)
    (recompute,) = as_json("--promote", "--why", "diversions were wrong")["recompute"]
    assert "--from 2013-01-01T04:00Z --to 2013-01-01T06:00Z" in recompute
    assert bench.launcher.started[-1] == "local.flights.g3"


def test_without_a_driver_the_code_is_compared_with_what_wrote_last(bench: Bench) -> None:
    bench.project.streams.life("flights").stop("ada", "holidays", 5)
    assert "flights has no driver that lives; the next one takes the code on disk." in words()
    bench.edit_transform()
    said = words()
    assert "wrote the newest interval" in said
    assert "module spark_jobs/transforms/departures.py" in said


def test_nothing_of_it_writes_to_the_table(bench: Bench) -> None:
    bench.edit_transform()
    before = DeltaTable(str(bench.place.table)).version()
    for arguments in ((), ("--rollback",), ("--promote", "--why", "diversions")):
        upgrade(*arguments)
    assert DeltaTable(str(bench.place.table)).version() == before


def test_the_newest_intervals_begin_where_the_table_does(bench: Bench) -> None:
    ledger, spec = bench.project.tables.ledger("departures"), bench.project.catalog.pipelines["departures"]
    assert trial.newest_intervals(ledger, spec, 100) == Interval(hour(0), hour(4))
    assert trial.newest_intervals(ledger, spec, 1) == Interval(hour(4) - timedelta(hours=1), hour(4))
