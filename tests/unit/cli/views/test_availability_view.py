from __future__ import annotations

from datetime import timedelta
from typing import cast

import pytest

from sluice.cli.views.availability_view import UnitService, in_percent, unit_service
from sluice.errors import UnreachableError
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.catalog.catalog import Unit
from sluice.specs.load import load_catalog
from sluice.specs.model.deadlines import Deadline
from sluice.streams.health.availability import Availability
from sluice.streams.health.health import Health
from sluice.streams.health.snapshots import DeadlineState, StreamSnapshot
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.attempts import Desired
from tests.twins.clock import START
from tests.twins.project import InMemoryProject

HOUR = timedelta(hours=1)


class SpecifiedProject(InMemoryProject):
    def unit(self, name: str) -> Unit:
        return self.catalog.units()[name]


def running() -> SpecifiedProject:
    """Return a project whose departures worked for three hours of four, and whose raw stream nobody judged."""
    project = SpecifiedProject(load_catalog(settings().home / "include"))
    registry = project.control
    registry.set_desired_state("flights", Desired.RUNNING, by="ada", why="launch")
    registry.intend("flights", after_generation=0, key="local.flights.g1")
    registry.bind("flights", 1)
    registry.record_verdict("flights", "departures", 1, Verdict(Health.OK, "It works."))
    project.clock.sleep(3 * 3600)
    registry.record_verdict("flights", "departures", 1, Verdict(Health.STALLED, "It does not."))
    project.clock.sleep(3600)
    return project


def observe(project: InMemoryProject, **missed: bool) -> None:
    """Keep an observation of departures that says of its deadlines whether they are missed."""
    states = tuple(DeadlineState(Deadline(name), is_missed, START, "As seen.") for name, is_missed in missed.items())
    at, verdict = project.clock.now(), Verdict(Health.OK, "It works.")
    cast(Project, project).records.snapshots().store(
        [StreamSnapshot("flights", "departures", 1, at, verdict, deadlines=states)]
    )


def of(project: InMemoryProject) -> UnitService:
    return unit_service(cast(Project, project), "flights", project.clock.now())


def test_each_stream_has_a_line_with_its_availability() -> None:
    project = running()
    observe(project, loss_risk=True)
    found = of(project)

    raw, departures, *_ = found.lines()
    assert departures == (
        "departures was available for 75.00 % of the 4 h 00 min that it should have run (down for 1 h 00 min)."
    )
    assert (
        raw
        == "raw_flights was available for 0.00 % of the 4 h 00 min that it should have run (unknown for 4 h 00 min)."
    )
    assert list(found.lines())[-1].startswith(
        "departures has missed its deadline loss_risk since 2013-01-07 12:00:00 UTC"
    )
    as_json = found.as_dict("departures")
    assert as_json["availability_30d"]["percent"] == 75.0
    assert as_json["availability_30d"]["down_seconds"] == 3600.0
    assert [missed["deadline"] for missed in as_json["missed_deadlines"]] == ["loss_risk"]


def test_a_deadline_that_is_met_again_or_no_longer_declared_is_not_shown() -> None:
    project = running()
    observe(project, loss_risk=False, lag=True)
    assert of(project).missed == {}


def test_without_the_control_database_nothing_is_known() -> None:
    class Unreachable(SpecifiedProject):
        def registry(self):  # type: ignore[no-untyped-def]  # noqa: ANN202 - it returns nothing
            raise UnreachableError("it does not answer.")

    found = of(Unreachable(load_catalog(settings().home / "include")))
    assert found == UnitService()
    assert found.as_dict("departures") == {"availability_30d": None, "missed_deadlines": []}


@pytest.mark.parametrize(
    ("available", "down", "expected"),
    [(4, 0, "100.00 %"), (99_999, 1, "99.99 %"), (999_999, 1, "99.99 %"), (0, 0, ""), (0, 1, "0.00 %")],
)
def test_only_all_of_the_time_is_a_hundred_percent(available: int, down: int, expected: str) -> None:
    assert in_percent(Availability(available=HOUR * available, down=HOUR * down)) == expected


def test_what_is_not_known_is_a_question_mark() -> None:
    assert in_percent(None) == "?"


def test_a_stream_that_was_not_wanted_says_so() -> None:
    assert list(UnitService({"departures": Availability()}).lines()) == [
        "departures was not requested to run in the last 30 days."
    ]
