"""What an alert says about a unit's driver: its generation, the verdicts of its streams, and the end of its log."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sluice.project.project import Project
from sluice.streams.health.health import FINE
from sluice.streams.health.recording import RecordedVerdict

LOG_BYTES = 64 * 1024
MAX_LINES = 8

_ERROR = re.compile(r"\b(ERROR|FATAL|CRITICAL)\b|^\S*(Error|Exception)\b|^Caused by:")


@dataclass(frozen=True)
class UnitFacts:
    """The evidence about a unit.

    Attributes:
        facts: one each.
        what_to_do: the advice of the first bad verdict.
        halted: whether it does not start until an operator requests it.
        ended_at: when its newest attempt has ended (UTC); None if it has not.
    """

    facts: tuple[str, ...]
    what_to_do: str = ""
    halted: bool = False
    ended_at: datetime | None = None


def unit_evidence(project: Project, unit: str) -> UnitFacts:
    """Gather the records of a unit and the errors in its driver's log. A failure to read them is a fact too."""
    facts: list[str] = []
    verdicts: list[RecordedVerdict] = []
    halted, ended_at = False, None
    try:
        registry = project.records.registry()
        attempt = registry.latest_attempt(unit)
        if attempt is None:
            return UnitFacts((f"unit {unit} never had a driver",))
        reason = f", {attempt.reason}" if attempt.reason else ""
        facts.append(f"generation {attempt.generation} of unit {unit} ({attempt.key}) is {attempt.state}{reason}")
        ended_at = attempt.ended_at
        verdicts = list(registry.verdicts(unit))
        facts += map(_sentence, verdicts)
        facts += _log(project.processes.launcher().log(attempt.key))
        halted = bool(project.streams.timeline(unit).halted)
    except Exception as error:  # noqa: BLE001 - an alert goes out with what could be seen
        facts.append(f"unit {unit} could not be checked: {error}")
    advice = (v.verdict.what_to_do for v in verdicts if v.verdict.health not in FINE)
    what_to_do = next(filter(None, advice), "")
    return UnitFacts(tuple(facts), what_to_do, halted, ended_at)


def _sentence(recorded: RecordedVerdict) -> str:
    verdict = recorded.verdict
    lag = "" if verdict.lag_records is None else f" Unread: {verdict.lag_records:,} records."
    if verdict.lag_seconds:
        lag = f"{lag.removesuffix('.')}, waiting for {verdict.lag_seconds:,.0f} s or more."
    given = f"{recorded.at:%Y-%m-%d %H:%M:%S} UTC, generation {recorded.generation}"
    return f"last verdict of {recorded.stream} ({given}): {verdict.health}. {verdict.why}{lag}"


def _log(file: Path) -> Iterator[str]:
    yield f"log of the driver: {file}"
    if not file.is_file():
        yield "it has written none yet"
        return
    lines = last_error_lines(_end_of(file))
    if lines:
        yield "its last errors:\n" + "\n".join(lines)


def last_error_lines(log: str, most: int = MAX_LINES) -> list[str]:
    """Return the last lines of a log that report an error."""
    return [line.rstrip() for line in log.splitlines() if _ERROR.search(line)][-most:]


def _end_of(file: Path, max_bytes: int = LOG_BYTES) -> str:
    with file.open("rb") as opened:
        opened.seek(max(0, opened.seek(0, os.SEEK_END) - max_bytes))
        return opened.read().decode(errors="replace")
