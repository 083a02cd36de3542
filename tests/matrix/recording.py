"""What a test of the fault matrix reports: how its fault was seen to strike, and what became of records and alarms.

A test that declares a row and reports no evidence for it fails, as does one that counts a record lost or doubled.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sluice.clock import Clock, SystemClock
from tests.matrix.census import Census
from tests.matrix.rows import MATRIX

PROPERTY = "faults"


@dataclass
class RowReport:
    """What a test says of one row.

    Attributes:
        row: its name.
        evidence: what shows that the fault struck, one sentence each.
        lost: acknowledged records that are not there; None: no record was at stake.
        twice: that are there more often than they were sent.
        phantom: that nobody has sent.
        at_stake: what was counted or compared, in words.
        stale_alarms: verdicts that still ask for a person after the recovery; None: no verdict was asked for.
        recovery_s: seconds from the last strike until the test saw that all was well; None: it saw only the end.
    """

    row: str
    evidence: list[str] = field(default_factory=list)
    lost: int | None = None
    twice: int | None = None
    phantom: int | None = None
    at_stake: str = ""
    stale_alarms: int | None = None
    recovery_s: float | None = None

    def faults(self) -> Iterator[str]:
        """Yield why this proves nothing, or proves the opposite; nothing where it is a proof."""
        if not self.evidence:
            yield "nothing shows that the fault struck: call `faults.struck`"
        if not self.at_stake:
            yield "nothing says what became of records: call `faults.counted`, or `faults.compared` without records"
        for name in ("lost", "twice", "phantom", "stale_alarms"):
            if count := getattr(self, name):
                yield f"{name}: {count}"


class FaultRecorder:
    """Takes what a test reports. Without a declared row it takes everything and keeps nothing."""

    def __init__(self, declared: Iterable[str], clock: Clock) -> None:
        self.reports = {name: RowReport(name) for name in declared}
        self._clock = clock
        self._struck: dict[str, float] = {}

    def struck(self, evidence: str, *rows: str) -> None:
        """Say how a fault was seen to strike, with what only a real one leaves; recovery counts from now."""
        for report in self._of(rows):
            report.evidence.append(evidence)
            self._struck[report.row] = self._clock.monotonic()

    def recovered(self, *rows: str) -> None:
        """Say that all is well again now; of several recoveries the longest counts."""
        for report in self._of(rows):
            assert report.row in self._struck, f"{report.row} has recovered from nothing"
            seconds = self._clock.monotonic() - self._struck[report.row]
            report.recovery_s = round(max(seconds, report.recovery_s or 0.0), 1)

    def counted(self, census: Census, *rows: str, what: str = "raw records") -> None:
        """Say what became of records; counts of several calls add up."""
        for report in self._of(rows):
            for name, count in asdict(census).items():
                setattr(report, name, (getattr(report, name) or 0) + count)
            report.at_stake = what

    def compared(self, what: str, *rows: str) -> None:
        """Say what the test has compared instead, where no record of a stream was at stake."""
        for report in self._of(rows):
            report.at_stake = report.at_stake or what

    def alarms(self, stale: Sequence[object], *rows: str) -> None:
        """Say which verdicts or alerts still ask for a person after the recovery."""
        for report in self._of(rows):
            report.stale_alarms = (report.stale_alarms or 0) + len(stale)

    def _of(self, rows: Sequence[str]) -> Iterable[RowReport]:
        """Return the reports of some rows that the test declares; of all of them if none is named."""
        if not self.reports:
            return ()
        unknown = set(rows) - self.reports.keys()
        assert not unknown, f"the test does not declare {sorted(unknown)}"
        return [self.reports[name] for name in rows] if rows else list(self.reports.values())


def declared_rows(item: pytest.Item) -> list[str]:
    """Return the rows that a test declares, in the order of the matrix."""
    named = {name for mark in item.iter_markers("proves") for name in mark.args}
    unknown = named - MATRIX.keys()
    assert not unknown, f"no rows of tests.matrix.rows: {sorted(unknown)}"
    return [name for name in MATRIX if name in named]


@pytest.fixture
def faults(request: pytest.FixtureRequest) -> Iterator[FaultRecorder]:
    """What the test reports about the rows of the fault matrix that it declares."""
    recorder = FaultRecorder(declared_rows(request.node), SystemClock())
    yield recorder
    if recorder.reports:
        request.node.user_properties.append((PROPERTY, [asdict(report) for report in recorder.reports.values()]))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Fail a test that passed, and did not prove what it declares."""
    result = yield
    refuse_silence(declared_rows(pyfuncitem), pyfuncitem.funcargs.get("faults"))
    return result


def refuse_silence(declared: Iterable[str], recorder: object) -> None:
    """Make sure that a test has proved the rows that it declares.

    Raises:
        AssertionError: it has not; every reason is named.
    """
    reports: Mapping[str, RowReport] = recorder.reports if isinstance(recorder, FaultRecorder) else {}
    wrong = [f"{name}: {why}" for name in declared for why in (reports.get(name) or RowReport(name)).faults()]
    assert not wrong, "; ".join(wrong)


class ReportFile:
    """Writes what each test reports into a file as soon as the test is over, one line of JSON each."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._said: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take one phase of a test; the fixture has spoken after the last one."""
        said = self._said.setdefault(
            report.nodeid, {"test": report.nodeid, "passed": True, "seconds": 0.0, PROPERTY: []}
        )
        said["passed"] = said["passed"] and report.passed
        said["seconds"] = round(said["seconds"] + report.duration, 1)
        if report.when not in {"setup", "call"}:  # a worker that died with the test reports in no phase
            said[PROPERTY] = dict(report.user_properties).get(PROPERTY, [])
            with self._file.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(self._said.pop(report.nodeid))}\n")
