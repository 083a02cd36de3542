"""An act that changes something: who did what, with which arguments, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from sluice.alerts.json_record import JsonRecord


class ActOutcome(StrEnum):
    """How an act ended."""

    OPEN = "open"
    """It has begun. If it stays so, its process was killed, or still works."""
    DONE = "done"
    REFUSED = "refused"
    """A guard refused; nothing was changed."""
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    """By Ctrl-C, or a signal that asks for an end."""


@dataclass(frozen=True)
class Act(JsonRecord):
    """One line of the audit log. The line of an act's end repeats what its beginning said.

    Attributes:
        id: of the act: the same in both lines.
        at: when it began, in UTC.
        who: the user of the machine, the user of Airflow, or the DAG that the clock started.
        through: `command line`, or the run and the task of Airflow.
        deployment: which one it was done on.
        what: the command, or the DAG and the task.
        arguments: what was given, by name, as text; secrets are left out.
        outcome: how it ended.
        ended: when, in UTC.
        detail: why it failed, or what else is worth keeping, such as who approved it.
    """

    id: str
    at: datetime
    who: str
    through: str
    deployment: str
    what: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    outcome: ActOutcome = ActOutcome.OPEN
    ended: datetime | None = None
    detail: str = ""
