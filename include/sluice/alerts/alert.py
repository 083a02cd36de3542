"""An alert: what failed, why, the evidence, where to look and what to do. It can be read without any other page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from pydantic import AwareDatetime, JsonValue

from sluice.alerts.json_record import JsonRecord
from sluice.specs.catalog.dag_ids import unit_of
from sluice.specs.model.alerting import AlertClass
from sluice.topics.printable import printable_lines


class Level(StrEnum):
    """What failed, or what else it is about."""

    TASK = "task"
    DAG = "dag"  # the run as a whole: also one without a failed task, such as a timeout
    STATE = "state"  # nothing has ended: a condition lasts
    RECOVERY = "recovery"  # nothing: a condition is over
    QUESTION = "question"  # nothing: a run waits for an answer
    TEST = "test"  # nothing: an operator tests the delivery


@dataclass(frozen=True)
class Alert(JsonRecord):
    """One notification.

    Attributes:
        id: names it on the command line.
        at: when it was noticed (UTC).
        level: what failed.
        what: one sentence, the title wherever it is shown.
        why: the reason, in the words of the error.
        evidence: facts, one each.
        where: link to the run, or the DAG, in Airflow's UI.
        what_to_do: the next step.
        dag_id: the DAG.
        run_id: its run.
        clearing: how often that run had been cleared; None if that could not be seen.
        task_id: the task; None at the DAG's level.
        try_number: counted from 1; None at the DAG's level.
        host: the machine where it was noticed.
        subject: what is in a state that lasts, such as `topic flights`; empty for what happens once. A run may be about
            several, and a state alerts once, see `sluice.alerts.delivery`.
        alert_class: what it is about.
        owner: who owns what it is about, as the spec or the DAG says.
        runbook: where the runbook says what to do about its class.
        successes: how many runs of the DAG had succeeded by then; None if that could not be seen.
        since: since when it is so (UTC), such as when the driver ended; None if that is not on record.
        row: of a rule about data, the row that it is about, as JSON values: programs act on it. None for all others.
    """

    id: str
    at: AwareDatetime
    level: Level
    what: str
    why: str
    evidence: tuple[str, ...]
    where: str
    what_to_do: str
    dag_id: str = ""
    run_id: str = ""
    clearing: int | None = None
    task_id: str | None = None
    try_number: int | None = None
    host: str = ""
    subject: str = ""
    alert_class: AlertClass = AlertClass.FAILED_RUN
    owner: str = ""
    runbook: str = ""
    successes: int | None = None
    since: AwareDatetime | None = None
    row: dict[str, JsonValue] | None = None

    def __post_init__(self) -> None:
        """Escape control characters: errors quote records, and an alert is read in terminals, mails and chats."""
        for name in ("what", "why", "what_to_do"):
            object.__setattr__(self, name, printable_lines(getattr(self, name)))
        object.__setattr__(self, "evidence", tuple(map(printable_lines, self.evidence)))

    @property
    def concerns(self) -> str:
        """What it is about, such as `stream departures`, `unit flights` or `DAG topics`."""
        if self.subject:
            return self.subject
        unit = unit_of(self.dag_id)
        return f"unit {unit}" if unit else f"DAG {self.dag_id}" if self.dag_id else "Sluice"

    @property
    def key(self) -> tuple[str, AlertClass]:
        """Its subject and class: while an incident of both is open, it alerts once."""
        return self.concerns, self.alert_class

    @property
    def began_at(self) -> datetime:
        """Since when it is so; if that is not on record, when it was noticed (UTC)."""
        return self.since or self.at

    def same_run(self, other: Alert) -> bool:
        """Whether both are about one execution of one run. A run that was cleared is executed again."""
        if self.clearing is None or other.clearing is None:
            return False
        return (self.dag_id, self.run_id, self.clearing) == (other.dag_id, other.run_id, other.clearing)

    def with_text(self, change: Callable[[str], str]) -> Alert:
        """Return the alert with every text that came from outside changed, to redact it. Ids are left alone."""
        return replace(
            self,
            what=change(self.what),
            why=change(self.why),
            evidence=tuple(change(fact) for fact in self.evidence),
            what_to_do=change(self.what_to_do),
            row=None if self.row is None else {name: _with_text(value, change) for name, value in self.row.items()},
        )

    def text(self) -> str:
        """Return everything but the title, as plain text."""
        facts = "\n".join("  - " + fact.replace("\n", "\n    ") for fact in self.evidence)
        parts = [
            self.why,
            f"Evidence:\n{facts}" if facts else "",
            f"What to do: {self.what_to_do}" if self.what_to_do else "",
            f"Where: {self.where}" if self.where else "",
            f"Runbook: {self.runbook}" if self.runbook else "",
            self._footer(),
        ]
        return "\n\n".join(part for part in parts if part)

    def markdown(self) -> str:
        """Return everything but the title, as Markdown. Foreign text stands in code blocks, not as markup."""
        runbook = f"<{self.runbook}>" if "://" in self.runbook else f"`{self.runbook}`"
        parts = [
            _code(self.why),
            "**Evidence**\n" + _code("\n".join(self.evidence)) if self.evidence else "",
            "**What to do**\n" + _code(self.what_to_do) if self.what_to_do else "",
            f"**Where**: <{self.where}>" if self.where else "",
            f"**Runbook**: {runbook}" if self.runbook else "",
            self._footer(),
        ]
        return "\n\n".join(part for part in parts if part)

    def _footer(self) -> str:
        tried = "" if self.try_number is None else f", try {self.try_number}"
        host = f" on {self.host}" if self.host else ""
        return f"Alert {self.id}, {self.at:%Y-%m-%d %H:%M:%S} UTC{host}{tried}."


def _with_text(value: JsonValue, change: Callable[[str], str]) -> JsonValue:
    match value:
        case str():
            return change(value)
        case list():
            return [_with_text(each, change) for each in value]
        case dict():
            return {name: _with_text(each, change) for name, each in value.items()}
    return value


def _code(text: str) -> str:
    """Return a fenced block; a fence inside the text cannot end it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"
