"""Advances of arrival times that nothing bears out: what a settler holds back, and what a person decides."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sluice.errors import RefusedError
from sluice.intervals.arrivals import ArrivalSpan
from sluice.intervals.entries import AdvanceEntry
from sluice.project.project import Project
from sluice.project.settlers import state_of_log
from sluice.settling.ports import SettledState
from sluice.settling.rules import SettlingRules
from sluice.settling.settler import SourceProgress
from sluice.settling.status import furthest_behind


@dataclass(frozen=True)
class Advance:
    """What holds a settled table back.

    Attributes:
        settled_until: end of the last settled interval (UTC); None before the first.
        clock: how far the arrival times have come that count, of the topic that is furthest behind; None before its
            first record.
        spans: arrival times that do not count, with their partitions, in order.
        believed_until: those up to here were confirmed, and count within seconds, while a driver runs.
    """

    settled_until: datetime | None
    clock: datetime | None
    spans: tuple[tuple[str, ArrivalSpan], ...]
    believed_until: datetime | None = None


def advance_of(project: Project, pipeline: str) -> Advance:
    """Return what holds the settled table of a pipeline back.

    Raises:
        RefusedError: its table is not settled.
        NotReadyError: there is no table yet.
        CorruptionError: its log cannot be read.
    """
    state = _state(project, pipeline)
    spans = [(partition, span) for partition, own in state.unconfirmed.items() for span in own]
    ordered = tuple(sorted(spans, key=lambda each: (each[1], each[0])))
    rules = SettlingRules.by_topic(project.catalog.pipelines[pipeline])
    behind, _ = furthest_behind({topic: SourceProgress(state.source(topic)) for topic in rules}, rules)
    return Advance(state.settled_until, state.source(behind).clocks.newest, ordered, state.believed_until)


def decide(project: Project, pipeline: str, until: datetime | None, *, by: str, why: str) -> None:
    """Put on record that arrival times count up to a time, or, with None, that those which are held back never do.

    Raises:
        RefusedError: nothing is held back, or nothing up to this time.
    """
    from sluice.delta.log import append_entry  # noqa: PLC0415 - Airflow parses files that read this package

    spans = advance_of(project, pipeline).spans
    if not spans:
        raise RefusedError(f"{pipeline} holds no arrival time back: there is nothing to decide.", fix="nothing.")
    if until is not None and until < spans[0][1].first:
        raise RefusedError(
            f"the first arrival time that {pipeline} holds back is {spans[0][1].first:%FT%TZ}, after {until:%FT%TZ}.",
            fix="name a later time, or refuse the advance.",
        )
    table = project.catalog.pipelines[pipeline].intervals.table
    append_entry(project.folder.table(table), AdvanceEntry(until, by, why))


def _state(project: Project, pipeline: str) -> SettledState:
    from sluice.delta.reading import open_table  # noqa: PLC0415 - see above

    spec = project.catalog.pipelines[pipeline]
    open_table(project.folder.table(spec.intervals.table))
    return state_of_log(project.folder, spec)
