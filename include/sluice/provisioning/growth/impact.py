"""What the items of a plan touch, beyond the value that changes: looked at when somebody is about to decide.

It is no part of the plan, and not of its id: records come and streams read on while somebody reads it. What cannot be
looked at is unknown and says so; a plan never fails for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from sluice.errors import SluiceError
from sluice.provisioning.growth.draining import drain_then_grow
from sluice.provisioning.growth.keys import KeyMoves, KeyReader, most_of_each, moves
from sluice.provisioning.growth.order_break import forecast
from sluice.provisioning.growth.touched import touched
from sluice.provisioning.retention.retention_cut import (
    LARGEST_BYTES,
    Cut,
    Position,
    deletes,
    look,
    look_by_size,
    unread_of,
)
from sluice.provisioning.retention.retention_steps import RETENTION, planned_steps
from sluice.provisioning.topics.changes import Grow, Item, Risk, SetConfig
from sluice.provisioning.topics.plan import Plan
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.model.duration import format_duration
from sluice.topics.administration import KafkaAdministration, TopicState

SIZE = "retention.bytes"
_CLEANUP, _LARGEST = "cleanup.policy", "max.message.bytes"


@dataclass(frozen=True)
class Impact:
    """What one item touches.

    Attributes:
        topic: the item's.
        value: what of the topic changes, as the item says it.
        clauses: for people, one fact each.
        facts: the same for machines, as JSON values.
    """

    topic: str
    value: str
    clauses: tuple[str, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Looker:
    """Looks at what items touch.

    Attributes:
        catalog: the specs, as they are in the deployment.
        cluster: of the deployment.
        keys: reads keys of the newest records.
        positions: returns the position of every stream that reads a topic.
        now: the present (UTC).
        keeps_state: whether a stream keeps state, by what its checkpoint shows; None: it shows nothing.
    """

    catalog: Catalog
    cluster: KafkaAdministration
    keys: KeyReader
    positions: Callable[[str], Mapping[str, Position]]
    now: datetime
    keeps_state: Callable[[str], bool | None] = lambda _stream: None

    def impact(self, item: Item, state: TopicState | None) -> Impact | None:
        """Return what an item touches; None for one of which nothing is to be said.

        Args:
            item: of a plan.
            state: its topic as the plan saw it.
        """
        if isinstance(item, Grow):
            return self._growth(item)
        if isinstance(item, SetConfig) and item.risk is Risk.LOSS and item.value in (RETENTION, SIZE):
            return self._cut(item, {} if state is None else state.configs)
        return None

    def _growth(self, item: Grow) -> Impact:
        seen = {stream: self.keeps_state(stream) for unit in self.catalog.units().values() for stream in unit.streams}
        shown = {stream: kept for stream, kept in seen.items() if kept is not None}
        found = touched(self.catalog, item.topic, item.partitions, item.more, keyed=item.keyed, shown=shown)
        facts: dict[str, Any] = {"touched": asdict(found)}
        clauses = found.clauses()
        if item.keyed:
            moved, steps = self._moves(item), drain_then_grow(found)
            facts |= {"keys": asdict(moved), "drain_then_grow": [asdict(step) for step in steps]}
            clauses = (str(moved), *self._forecast(item.topic), *clauses)
        return Impact(item.topic, item.value, clauses, facts)

    def _moves(self, item: Grow) -> KeyMoves:
        try:
            sample = self.keys.newest_keys(item.topic, most_of_each(item.partitions))
        except SluiceError as error:
            return KeyMoves(0, 0, 0, unknown=_lowered(error))
        return moves(sample, item.partitions, item.more)

    def _forecast(self, topic: str) -> Iterator[str]:
        try:
            yield forecast(topic, self.cluster.extent(topic))
        except SluiceError as error:
            yield f"where the order of its keys would break is unknown: {_lowered(error)}"

    def _cut(self, item: SetConfig, configs: Mapping[str, str]) -> Impact:
        if not deletes(configs.get(_CLEANUP)):
            clauses: tuple[str, ...] = (
                f"no record goes: its {_CLEANUP} is {configs[_CLEANUP]}, which deletes none by it",
            )
            return Impact(item.topic, item.value, clauses)
        try:
            cut, steps = self._looked_at(item, configs)
        except (SluiceError, ValueError) as error:
            return Impact(item.topic, item.value, (f"how many records go is unknown: {_lowered(error)}",))
        clauses = cut.clauses()
        if len(steps) > 1:
            clauses += (f"lowered in {len(steps)} steps: {', '.join(map(_in_words, steps))}",)
        return Impact(item.topic, item.value, clauses, {"cut": asdict(cut), "steps": list(steps)})

    def _looked_at(self, item: SetConfig, configs: Mapping[str, str]) -> tuple[Cut, tuple[int, ...]]:
        """Return what goes, and the steps by which it does.

        Raises:
            SluiceError: it could not be looked at.
            ValueError: a value is no number.
        """
        committed, topic = self.positions(item.topic), item.topic
        if item.after is None:
            found = Cut(topic, {}, unknown="what the broker's default keeps is not known")
            return replace(found, unread=unread_of(found, committed)), ()
        wanted = int(item.after)
        if item.value == SIZE:
            largest = int(configs.get(_LARGEST, LARGEST_BYTES))
            return look_by_size(self.cluster, topic, wanted, committed, largest_bytes=largest), ()
        before = None if item.before is None else int(item.before)
        cut = look(self.cluster, topic, wanted, committed, now=self.now)
        return cut, planned_steps(self.cluster, topic, before, wanted, now=self.now)


def impacts_of(found: Plan, looker: Looker) -> Mapping[tuple[str, str], Impact]:
    """Return what the items of a plan touch, by topic and value."""
    states = {state.name: state for state in found.seen}
    impacts = [looker.impact(item, states.get(item.topic)) for item in found.items]
    return {(impact.topic, impact.value): impact for impact in impacts if impact is not None}


def _in_words(milliseconds: int) -> str:
    return format_duration(timedelta(milliseconds=milliseconds))


def _lowered(error: Exception) -> str:
    """Return an error's message as a clause."""
    said = (error.message if isinstance(error, SluiceError) else str(error)).rstrip(".")
    return said[:1].lower() + said[1:]
