from __future__ import annotations

from pathlib import Path

import pytest

from sluice.airflow.alerts.unit_evidence import last_error_lines, unit_evidence
from sluice.errors import UnreachableError
from sluice.streams.health.health import Health
from sluice.streams.health.verdict import Verdict
from tests.twins.project import InMemoryProject

LOG = """\
INFO starting
ERROR first
Traceback (most recent call last):
  File "x.py", line 1, in <module>
RuntimeError: the disk is full
Caused by: java.io.IOException: No space left on device
INFO no ERRORS here
"""


class LoggingProject(InMemoryProject):
    """A project in memory whose launcher has a log on disk."""

    file: Path

    def launcher(self):  # type: ignore[no-untyped-def]  # noqa: ANN201 - the twin's, with a file
        drivers = super().launcher()
        drivers.log = lambda _: self.file  # type: ignore[method-assign]
        return drivers


@pytest.fixture
def project(tmp_path: Path) -> LoggingProject:
    project = LoggingProject()
    project.file = tmp_path / "driver.log"
    return project


def test_generation_verdict_log_and_its_last_errors_are_evidence(project: LoggingProject) -> None:
    registry = project.records.registry()
    registry.intend("flights", after_generation=0, key="local.flights.g1")
    registry.end("flights", 1, exit_code=1, reason="failed")
    verdict = Verdict(Health.STOPPED, "It does not run.", "sluice streams logs flights", lag_records=1_200)
    registry.record_verdict("flights", "departures", 1, verdict)
    project.file.write_text(LOG)

    found = unit_evidence(project, "flights")  # type: ignore[arg-type]  # a twin

    generation, last, log, errors = found.facts
    assert generation == "generation 1 of unit flights (local.flights.g1) is ended, failed"
    assert last.startswith(
        "last verdict of departures (2013-01-07 12:00:00 UTC, generation 1): STOPPED. It does not run."
    )
    assert last.endswith("Unread: 1,200 records.")
    assert log == f"log of the driver: {project.file}"
    assert errors.splitlines()[1:] == last_error_lines(LOG)
    assert found.what_to_do == "sluice streams logs flights"


def test_a_verdict_that_is_fine_advises_nothing(project: LoggingProject) -> None:
    registry = project.records.registry()
    registry.intend("flights", after_generation=0, key="local.flights.g1")
    registry.record_verdict("flights", "departures", 1, Verdict(Health.OK, "It works.", "nothing"))

    found = unit_evidence(project, "flights")  # type: ignore[arg-type]  # a twin

    assert found.what_to_do == ""
    assert found.facts[-1] == "it has written none yet"


def test_a_unit_that_never_ran_is_told_as_that(project: LoggingProject) -> None:
    found = unit_evidence(project, "flights")  # type: ignore[arg-type]  # a twin

    assert found.facts == ("unit flights never had a driver",)


def test_what_cannot_be_seen_is_a_fact_and_no_error() -> None:
    class Blind(InMemoryProject):
        def registry(self):  # type: ignore[no-untyped-def]  # noqa: ANN202 - it returns nothing
            raise UnreachableError("The control database does not answer.")

    found = unit_evidence(Blind(), "flights")  # type: ignore[arg-type]  # a twin

    assert found.facts == ("unit flights could not be checked: The control database does not answer.",)


def test_lines_of_errors_are_the_last_ones_that_tell_of_one() -> None:
    assert last_error_lines(LOG) == [
        "ERROR first",
        "RuntimeError: the disk is full",
        "Caused by: java.io.IOException: No space left on device",
    ]
    assert last_error_lines(LOG, most=1) == ["Caused by: java.io.IOException: No space left on device"]
