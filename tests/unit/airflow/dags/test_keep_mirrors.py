"""What ends an alert about a mirror: proof alone, of every class that is open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from sluice.airflow import runtime
from sluice.airflow.alerts.dispatch import airflow_dispatcher
from sluice.airflow.dags import mirrors as mirror_dags
from sluice.airflow.dags.mirrors import MirrorTrigger
from sluice.airflow.rounds import AskedOfAirflow, Found
from sluice.alerts.alert import Alert, Level
from sluice.alerts.journal import Journal
from sluice.errors import RefusedError, UnreachableError
from sluice.mirrors.alerting import WELL_FOR
from sluice.mirrors.lag import CopyLag, MirrorLag
from sluice.project.mirroring.mirrors import ProjectMirrors
from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.deployments.mirror import MirrorSpec
from sluice.specs.model.alerting import AlertClass
from sluice.streams.life.attempts import Desired
from sluice.streams.life.launcher import Job
from sluice.streams.life.life import UnitLife
from tests.twins.project import InMemoryProject
from tests.unit.airflow.alerts.alerting_airflow import still_open
from tests.unit.alerts.examples import make_alert

DEADLINE, STALLED, UNKNOWN = AlertClass.DEADLINE, AlertClass.STALLED, AlertClass.UNKNOWN
WELL = MirrorLag((CopyLag("flights/0", 5, 5),))
ABSENT = MirrorLag((), ("flights",))
SILENT = UnreachableError("no broker answers.")
SPEC = MirrorSpec(name="standby", source="local", target="compose", topics=("flights",))


@dataclass
class Minutes:
    """The minutes of `keep_mirrors` over a mirror that runs: the round, and its red tasks."""

    project: InMemoryProject = field(default_factory=lambda: InMemoryProject(Catalog(mirrors={"standby": SPEC})))
    lag: MirrorLag | UnreachableError = WELL

    def __post_init__(self) -> None:
        self.life = ProjectMirrors(self.project).life("standby")  # type: ignore[arg-type]

    @property
    def late(self) -> MirrorLag:
        return MirrorLag((CopyLag("flights/0", 5, 9, self.project.clock.now() - timedelta(hours=1)),))

    def answer(self) -> MirrorLag:
        if isinstance(self.lag, UnreachableError):
            raise self.lag
        return self.lag

    def pass_(self, count: int = 1, lag: MirrorLag | UnreachableError | None = None) -> Found:
        self.lag = lag or self.lag
        found: Found = []
        for _ in range(count):
            self.project.clock.sleep(60)
            found = MirrorTrigger().round(cast(AskedOfAirflow, None))
            for each in found:
                if each["why"]:
                    self.red(**{name: str(value) for name, value in each.items()})
                elif each["action"] == "start" and (attempt := self.life.claim(governed=True).attempt) is not None:
                    self.life.submit(attempt)
        return found

    def red(self, *, subject: str, why: str, alert_class: str, **_others: str) -> None:
        now = self.project.clock.now()
        kind, dispatcher = AlertClass(alert_class), airflow_dispatcher(self.project.clock)
        if (subject, kind) not in still_open():
            fields = {"subject": subject, "alert_class": kind, "why": why, "dag_id": "keep_mirrors", "at": now}
            dispatcher.notify(make_alert(f"{kind} {now:%H%M}", what=f"Task keep failed ({kind})", **fields))


@pytest.fixture
def minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Minutes:
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    made = Minutes()
    monkeypatch.setattr(runtime, "open_project", lambda: made.project)
    monkeypatch.setattr(ProjectMirrors, "lag", lambda _self, _name: made.answer())
    monkeypatch.setattr(ProjectMirrors, "_refuse_unconfigured", lambda _self, _name: None)
    monkeypatch.setattr(made.project.processes, "mirror", lambda name: Job((name,)), raising=False)
    made.life.start("ada", "to see")
    made.pass_(10)
    assert still_open() == set()
    made.pass_(1, made.late)
    assert still_open() == opened(DEADLINE)
    return made


def opened(*classes: AlertClass) -> set[tuple[str, AlertClass]]:
    return {("mirror standby", kind) for kind in classes}


def ends() -> list[Alert]:
    return [each for each in Journal(settings().folder.alerts).read().alerts if each.level is Level.RECOVERY]


def locked(minutes: Minutes, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise UnreachableError("the control database is locked.")

    monkeypatch.setattr(minutes.project.control, "desired", refuse)
    monkeypatch.setattr(minutes.project.control, "newest_desired_states", refuse)


def dies(minutes: Minutes, _monkeypatch: pytest.MonkeyPatch) -> None:
    (key,) = minutes.project.drivers.alive
    minutes.project.drivers.kill(key)


def launcher_gone(minutes: Minutes, _monkeypatch: pytest.MonkeyPatch) -> None:
    minutes.project.drivers.reachable = False
    minutes.project.control.set_desired_state("mirror_standby", Desired.STOPPED, by="ada", why="enough")


@pytest.mark.parametrize("strike", [locked, dies, launcher_gone])
def test_what_proves_nothing_ends_nothing(
    minutes: Minutes, monkeypatch: pytest.MonkeyPatch, strike: Callable[[Minutes, pytest.MonkeyPatch], None]
) -> None:
    minutes.lag = WELL
    strike(minutes, monkeypatch)
    minutes.pass_(2)
    assert ("mirror standby", DEADLINE) in still_open()
    assert ends() == []


def test_a_mirror_that_is_restarted_again_and_again_is_not_well_between_two_deaths(minutes: Minutes) -> None:
    minutes.lag = WELL
    for _ in range(3):
        for key in minutes.project.drivers.alive:
            minutes.project.drivers.kill(key)
        minutes.pass_(4)
    assert ends() == []
    minutes.pass_(15)
    assert minutes.project.drivers.alive
    assert [each.what for each in ends()] == ["Mirror standby is well again"]


def test_it_ends_once_the_mirror_has_been_well_for_a_while(minutes: Minutes) -> None:
    minutes.pass_(WELL_FOR // timedelta(minutes=1), WELL)
    minutes.pass_(1, minutes.late)
    minutes.pass_(WELL_FOR // timedelta(minutes=1), WELL)
    assert ends() == []
    minutes.pass_(3)
    (end,) = ends()
    assert (end.what, end.why) == ("Mirror standby is well again", "It is OK now. Everything is copied.")
    assert still_open() == set()


def test_every_class_that_was_open_is_over_when_the_mirror_is_well(minutes: Minutes) -> None:
    minutes.pass_(20, SILENT)
    assert still_open() == opened(DEADLINE, UNKNOWN), "what is not known ends nothing"
    minutes.pass_(7, WELL)
    assert still_open() == set()
    assert [each.alert_class for each in ends()] == [DEADLINE, UNKNOWN]


def test_what_is_wrong_in_another_way_is_no_longer_wrong_in_the_old_one(minutes: Minutes) -> None:
    minutes.pass_(7, ABSENT)
    assert still_open() == opened(STALLED)
    (end,) = ends()
    assert (end.what, end.alert_class) == ("Over: Task keep failed (deadline)", DEADLINE)
    assert end.why == "It is STALLED now. The target has no flights yet."


def test_a_stop_that_is_complete_ends_it_at_once(minutes: Minutes) -> None:
    minutes.life.stop("ada", "enough", 10)
    minutes.pass_()
    assert still_open() == set()


def test_a_mirror_that_is_too_late_for_good_alerts_by_its_class(minutes: Minutes) -> None:
    (found,) = minutes.pass_(1, minutes.late)
    assert (found["mirror"], found["alert_class"], found["action"]) == ("standby", "deadline", "")
    assert mirror_dags.KeepMirrorOperator(task_id="keep", **found).alert_class is DEADLINE


def test_a_stop_that_a_start_has_overtaken_is_skipped_and_one_that_cannot_be_finished_is_red(
    minutes: Minutes, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = {"mirror": "standby", "subject": "mirror standby", "why": "", "fix": "", "alert_class": ""}
    keep = mirror_dags.KeepMirrorOperator(task_id="keep", action="stop", **stop)
    with pytest.raises(AirflowSkipException, match="no stop is on record any more"):
        keep.execute({})
    assert minutes.project.drivers.alive
    minutes.project.control.set_desired_state("mirror_standby", Desired.STOPPED, by="ada", why="enough")
    monkeypatch.setattr(UnitLife, "finish_stop", refuse_lost)
    with pytest.raises(AirflowFailException, match="trace"):
        keep.execute({})


def refuse_lost(*_: object) -> None:
    raise RefusedError("the launcher has lost the trace of it.")
