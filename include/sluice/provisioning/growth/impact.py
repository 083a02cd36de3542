"""What the changes of a plan affect beyond the value that changes, observed when an operator is about to decide.

It is no part of the plan or its id: records arrive and streams read on meanwhile. What cannot be observed is reported
as unknown; a plan never fails for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from sluice.errors import SluiceError
from sluice.provisioning.growth.draining import drain_then_grow
from sluice.provisioning.growth.effects import growth_effects
from sluice.provisioning.growth.keys import KeyMoves, KeyReader, most_of_each, moves
from sluice.provisioning.growth.order_break import forecast
from sluice.provisioning.plans.changes import ConfigUpdate, PartitionIncrease, PlannedChange, Risk
from sluice.provisioning.plans.plan import Plan
from sluice.provisioning.retention.cut import (
    CLEANUP,
    LARGEST_BYTES,
    Cut,
    Position,
    deletes,
    observe_cut,
    observe_cut_by_size,
    unread_of,
)
from sluice.provisioning.retention.steps import RETENTION, planned_steps
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.model.duration import format_duration
from sluice.topics.administration import KafkaAdministration, TopicState

SIZE = "retention.bytes"
_LARGEST = "max.message.bytes"


@dataclass(frozen=True)
class Impact:
    """What one change affects.

    Attributes:
        topic: the change's.
        value: what of the topic changes, as in the change.
        clauses: for people, one fact each.
        facts: the same for machines, as JSON values.
    """

    topic: str
    value: str
    clauses: tuple[str, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ImpactAnalysis:
    """Finds out what changes affect.

    Attributes:
        catalog: the specs, as they are in the deployment.
        cluster: of the deployment.
        keys: reads keys of the newest records.
        positions: returns the position of every stream that reads a topic.
        now: the present (UTC).
        keeps_state: whether a stream keeps state, by its checkpoint; None: not known.
    """

    catalog: Catalog
    cluster: KafkaAdministration
    keys: KeyReader
    positions: Callable[[str], Mapping[str, Position]]
    now: datetime
    keeps_state: Callable[[str], bool | None] = lambda _stream: None

    def impacts(self, plan: Plan) -> Mapping[tuple[str, str], Impact]:
        """Return what the changes of a plan affect, by topic and value."""
        states = {state.name: state for state in plan.topics}
        impacts = [self.impact(change, states.get(change.subject)) for change in plan.changes]
        return {(impact.topic, impact.value): impact for impact in impacts if impact is not None}

    def impact(self, change: PlannedChange, state: TopicState | None) -> Impact | None:
        """Return what a change affects; None where nothing is known of its kind."""
        if isinstance(change.detail, PartitionIncrease):
            return self._growth(change.subject, change.detail)
        if isinstance(change.detail, ConfigUpdate) and change.risk is Risk.LOSS and change.value in (RETENTION, SIZE):
            configs = {} if state is None else state.configs
            clauses, facts = self._cut(change.subject, change.value, change.detail, configs)
            return Impact(change.subject, change.value, clauses, facts)
        return None

    def _growth(self, topic: str, growth: PartitionIncrease) -> Impact:
        seen = {stream: self.keeps_state(stream) for unit in self.catalog.units().values() for stream in unit.streams}
        observed = {stream: kept for stream, kept in seen.items() if kept is not None}
        effects = growth_effects(
            self.catalog, topic, growth.before, growth.after, keyed=growth.keyed, observed_state=observed
        )
        facts: dict[str, Any] = {"touched": asdict(effects)}
        clauses = effects.clauses()
        if growth.keyed:
            moved, steps = self._moves(topic, growth), drain_then_grow(effects)
            facts |= {"keys": asdict(moved), "drain_then_grow": [asdict(step) for step in steps]}
            clauses = (str(moved), *self._forecast(topic), *clauses)
        return Impact(topic, "partitions", clauses, facts)

    def _moves(self, topic: str, growth: PartitionIncrease) -> KeyMoves:
        try:
            sample = self.keys.newest_keys(topic, most_of_each(growth.before))
        except SluiceError as error:
            return KeyMoves(0, 0, 0, unknown=_lowered(error))
        return moves(sample, growth.before, growth.after)

    def _forecast(self, topic: str) -> Iterator[str]:
        try:
            yield forecast(topic, self.cluster.extent(topic))
        except SluiceError as error:
            yield f"where the order of its keys would break is unknown: {_lowered(error)}"

    def _cut(
        self, topic: str, value: str, update: ConfigUpdate, configs: Mapping[str, str]
    ) -> tuple[tuple[str, ...], Mapping[str, Any]]:
        if not deletes(configs.get(CLEANUP)):
            return (f"no record goes: its {CLEANUP} is {configs[CLEANUP]}, which deletes none by it",), {}
        try:
            cut, steps = self._observed_cut(topic, value, update, configs)
        except (SluiceError, ValueError) as error:
            return (f"how many records go is unknown: {_lowered(error)}",), {}
        clauses = cut.clauses()
        if len(steps) > 1:
            durations = ", ".join(format_duration(timedelta(milliseconds=step)) for step in steps)
            clauses += (f"lowered in {len(steps)} steps: {durations}",)
        return clauses, {"cut": asdict(cut), "steps": list(steps)}

    def _observed_cut(
        self, topic: str, value: str, update: ConfigUpdate, configs: Mapping[str, str]
    ) -> tuple[Cut, tuple[int, ...]]:
        """Return what goes, and the steps by which it does.

        Raises:
            SluiceError: it could not be observed.
            ValueError: a value is no number.
        """
        committed = self.positions(topic)
        if update.after is None:
            unknown_cut = Cut(topic, {}, unknown="what the broker's default keeps is not known")
            return replace(unknown_cut, unread=unread_of(unknown_cut, committed)), ()
        wanted = int(update.after)
        if value == SIZE:
            largest = int(configs.get(_LARGEST, LARGEST_BYTES))
            return observe_cut_by_size(self.cluster, topic, wanted, committed, largest_bytes=largest), ()
        before = None if update.before is None else int(update.before)
        cut = observe_cut(self.cluster, topic, wanted, committed, now=self.now)
        return cut, planned_steps(self.cluster, topic, before, wanted, now=self.now)


def _lowered(error: Exception) -> str:
    """Return an error's message as a clause."""
    message = (error.message if isinstance(error, SluiceError) else str(error)).rstrip(".")
    return message[:1].lower() + message[1:]
