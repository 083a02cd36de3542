"""Raw tables whose records are removed by their age: how far, and what keeps them longer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.intervals.raw_floor import RawFloor
from sluice.intervals.reach import RawPosition, topic_name
from sluice.project.project import Project
from sluice.settling.retention import (
    FloorDecision,
    RawNeed,
    need_of_backfill,
    needs_of_table,
    next_floor,
)
from sluice.settling.rules import SettlingRules
from sluice.specs.catalog.streams import raw_stream
from sluice.specs.model.model import TopicSpec
from sluice.specs.model.sources import CLOCK_SKEW


@dataclass(frozen=True)
class Retained:
    """What a round did to one raw table.

    Attributes:
        removed: records.
        floor: that is on record afterwards; None: there is none.
        held: what keeps the floor lower than the age says; empty if nothing does.
    """

    removed: int = 0
    floor: RawFloor | None = None
    held: str = ""

    def __str__(self) -> str:
        """Return it in words."""
        reached = "no floor" if self.floor is None else f"floor {self.floor.at:%F %R} UTC"
        return f"{reached}, {self.removed:,} records removed{f'; held: {self.held}' if self.held else ''}"


def retaining_topics(project: Project) -> list[str]:
    """Return the topics with an age in their specs whose raw tables are there."""
    topics = project.catalog.topics.items()
    return sorted(
        name
        for name, topic in topics
        if isinstance(topic.raw.retention, timedelta) and project.folder.table(topic.raw.table).exists()
    )


def retain(project: Project, name: str, now: datetime) -> Retained:
    """Raise the floor of a topic's raw table as far as its age and its readers allow, and remove what lies below.

    May be repeated. A process that dies between the two leaves a floor, and the next round removes what is below it.

    Args:
        project: specs and places.
        name: of the topic.
        now: the time (UTC).

    Raises:
        CorruptionError: the log of a table cannot be read.
        UnreachableError: the control database could not be queried.
    """
    from sluice.delta.raw.raw_floor import is_older, raise_floor, remove_below  # noqa: PLC0415 - see `Project`

    topic, position = project.catalog.topics[name], project.tables.raw_position(name)
    folder, floor = project.folder.table(topic.raw.table), position.floor
    margin = _margin(project, name)
    decision = _decision(project, topic, position, now, margin)
    if decision.floor is not None and is_older(folder, decision.floor, margin):  # else nothing would go
        floor = raise_floor(folder, decision.floor, now)
    removed = 0 if floor is None else remove_below(folder, floor, margin)
    return Retained(removed, floor, "" if decision.held is None else decision.held.why)


def _decision(
    project: Project, topic: TopicSpec, position: RawPosition, now: datetime, margin: timedelta
) -> FloorDecision:
    from sluice.delta.raw.raw_floor import is_older, newest_event, oldest_unread  # noqa: PLC0415 - see `Project`

    folder, retention = project.folder.table(topic.raw.table), topic.raw.retention
    if not isinstance(retention, timedelta) or not position.reach.topics:
        return FloorDecision()
    newest, before = newest_event(folder, margin), position.floor
    by_age = next_floor(retention, newest, now, (), before).floor
    if by_age is None or not is_older(folder, by_age, margin):  # most rounds end here
        return FloorDecision()
    found = next_floor(retention, newest, now, _needs(project, topic.name), before)
    if found.floor is None:
        return found
    topic_id = position.reach.topics[-1]
    # What is unread first, the ledgers after it: what was read in between has left its marks there.
    unread = [
        RawNeed(since, f"{stream} has not read {since:%F %R} UTC yet")
        for stream, offsets in _positions(project, topic.name, topic_id).items()
        if (since := oldest_unread(folder, found.floor, offsets, topic_id=topic_id)) is not None
    ]
    return next_floor(retention, newest, now, [*unread, *_needs(project, topic.name)], before)


def _needs(project: Project, topic: str) -> Iterator[RawNeed]:
    readers = [spec for spec in project.catalog.readers.get(topic, ()) if spec.has_intervals]
    backs = {spec.name: SettlingRules.of(spec, topic).reach_back for spec in readers}
    for name, back in backs.items():
        yield from needs_of_table(name, project.tables.ledger(name), back)
    for stream, offsets in _every_position(project, topic).items():
        if offsets is None:
            yield RawNeed(None, f"the position of {stream} cannot be read")
    for backfill in project.processes.backfills_at_work():
        if backfill.request.pipeline in backs:
            back = backs[backfill.request.pipeline]
            yield need_of_backfill(backfill.id, backfill.request.range, back)


def _every_position(project: Project, topic: str) -> Mapping[str, Mapping[str, int] | None]:
    positions = project.streams.positions(topic)
    return {stream: offsets for stream, offsets in positions.items() if stream != raw_stream(topic)}


def _positions(project: Project, topic: str, topic_id: str) -> Mapping[str, Mapping[str, int]]:
    """Return how far each stream has read a topic; nothing of one that has not come to the newest topic of the name."""
    return {
        stream: {} if offsets is None or _reads_another(project, stream, topic_id) else _own_offsets(offsets, topic)
        for stream, offsets in _every_position(project, topic).items()
    }


def _reads_another(project: Project, stream: str, topic_id: str) -> bool:
    return any(topic_id not in ids.split("+") for ids in project.streams.epochs(stream).topics[-1:])


def _own_offsets(offsets: Mapping[str, int], topic: str) -> dict[str, int]:
    return {partition: offset for partition, offset in offsets.items() if topic_name(partition) == topic}


def _margin(project: Project, topic: str) -> timedelta:
    """Return how far a record's event may lie ahead of its timestamp in Kafka, as its readers believe it."""
    times = [spec.time_of(topic) for spec in project.catalog.readers.get(topic, ())]
    return max([CLOCK_SKEW, *(time.future_skew + time.clock_skew for time in times)])
