"""What one run of the matrix has shown: rows whose fault struck, and what it cost. Silence counts as nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.matrix.recording import PROPERTY, RowReport
from tests.matrix.rows import MATRIX, TRIED

_COUNTS = ("lost", "twice", "phantom", "stale_alarms")


@dataclass
class RowResult:
    """What all tests of a row have reported together.

    Attributes:
        report: evidence of all, counts added up, the longest recovery.
        tests: how many cases reported it.
        seconds: that they took.
        failed: those that failed, whatever they reported.
    """

    report: RowReport
    tests: int = 0
    seconds: float = 0.0
    failed: list[str] = field(default_factory=list)

    @property
    def has_fired(self) -> bool:
        """Whether a test that passed has shown that the fault struck, and none has failed."""
        return bool(self.report.evidence) and not self.failed


def results(lines: Iterable[Mapping[str, Any]], declared: Mapping[str, Iterable[str]]) -> dict[str, RowResult]:
    """Return what became of each row that is tried.

    Args:
        lines: of the report file, one per case of a test.
        declared: the tests of each row; a test that failed may have reported nothing.
    """
    found = {name: RowResult(RowReport(name)) for name in MATRIX if name in TRIED}
    for line in lines:
        test = line["test"].partition("[")[0]
        said = {each["row"]: each for each in line[PROPERTY]}
        rows = said.keys() if line["passed"] else {name for name, tests in declared.items() if test in tests}
        for name in rows & found.keys():
            _add(found[name], line, said.get(name))
    return found


def _add(result: RowResult, line: Mapping[str, Any], said: Mapping[str, Any] | None) -> None:
    result.tests += 1
    result.seconds += line["seconds"]
    if not line["passed"]:
        result.failed.append(line["test"])
    if said is None:
        return
    result.report.evidence += said["evidence"]
    for name in _COUNTS:
        if said[name] is not None:
            setattr(result.report, name, (getattr(result.report, name) or 0) + said[name])
    result.report.at_stake = result.report.at_stake or said["at_stake"]
    if said["recovery_s"] is not None:
        result.report.recovery_s = max(said["recovery_s"], result.report.recovery_s or 0.0)


def figures(found: Mapping[str, RowResult]) -> dict[str, int]:
    """Return the figures of a run: how many rows there are, how many struck, and what was lost or doubled."""
    sums = {name: sum(getattr(each.report, name) or 0 for each in found.values()) for name in _COUNTS}
    return {"faults": len(found), "faults_fired": sum(each.has_fired for each in found.values()), **sums}


def notes(found: Mapping[str, RowResult]) -> dict[str, Any]:
    """Return what the figures do not say: recoveries, rows that count for nothing, and rows that nobody tries here."""
    reports = {name: asdict(each.report) for name, each in found.items()}
    return {
        "recovery_s": {name: said["recovery_s"] for name, said in reports.items() if said["recovery_s"] is not None},
        "failed": {name: each.failed for name, each in found.items() if each.failed},
        "silent": [name for name, each in found.items() if not each.report.evidence and not each.failed],
        "alarms_asked_for": sum(said["stale_alarms"] is not None for said in reports.values()),
        "records_counted_in": sum(said["lost"] is not None for said in reports.values()),
        "untried": {name: row.untried for name, row in MATRIX.items() if row.untried},
    }


def table(found: Mapping[str, RowResult]) -> str:
    """Return the run as a table in Markdown."""
    head = "| # | fault | struck | lost | twice | phantom | stale alarms | recovery (s) | compared | cases |"
    lines = [head, "|--:|---|---|--:|--:|--:|--:|--:|---|--:|"]
    for name, row in MATRIX.items():
        if row.untried:
            lines.append(f"| {row.number} | {name} | not tried here: {row.untried} |" + " |" * 7)
            continue
        each = found[name]
        struck = f"FAILED: {', '.join(each.failed)}" if each.failed else (each.report.evidence or ["NOT SEEN"])[0]
        counts = [_cell(getattr(each.report, count)) for count in _COUNTS]
        cells = [row.number, name, struck.replace("|", "/").splitlines()[0][:160], *counts]
        cells += [_cell(each.report.recovery_s), each.report.at_stake, each.tests]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def _cell(count: float | None) -> str:
    return "-" if count is None else f"{count:g}"
