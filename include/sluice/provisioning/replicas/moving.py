"""Moving replicas in batches, under a throttle that is removed when they have arrived, or when the move fails.

If the process is killed, Kafka goes on with the batch that it has; the next plan shows it as under way, and the next
apply waits for it, moves the rest and removes the throttle.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from sluice.clock import Clock, SystemClock
from sluice.errors import RefusedError, UnreachableError
from sluice.topics.administration import KafkaAdministration, TopicState
from sluice.topics.replica_administration import PartitionKey, Throttle

DEFAULT_THROTTLE = 50_000_000
"""Bytes per second into each broker and out of it."""
DEFAULT_BATCH = 20
"""Partitions that move at once."""
_POLL_SECONDS = 0.5
_UNHEARD_SECONDS = 15.0
"""For how long a broker may not have heard of a topic."""


@dataclass(frozen=True)
class MoveProgress:
    """How far the moves are.

    Attributes:
        moved: partitions that have arrived.
        partitions: partitions that move.
        copied: bytes of new replicas that have arrived, of the present batch and of those before.
        size: bytes of all new replicas, as far as they are known.
        seconds_left: at the speed so far; None: not known.
        waiting_for: brokers that replicas go to and that the cluster does not list.
    """

    moved: int
    partitions: int
    copied: int
    size: int
    seconds_left: float | None
    waiting_for: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Return it in a line."""
        line = f"{self.moved} of {self.partitions} partitions moved"
        if self.size:
            line += f", {self.copied / 1e6:,.1f} of {self.size / 1e6:,.1f} MB copied"
        if self.seconds_left is not None:
            line += f", about {self.seconds_left:.0f} s left"
        return line + (f"; waits for broker {', '.join(map(str, self.waiting_for))}" if self.waiting_for else "")


def on_change(notify: Callable[[str], None]) -> Callable[[MoveProgress], None]:
    """Return a callback that passes progress on as a line, each time that the line changes."""
    last = ""

    def report(progress: MoveProgress) -> None:
        nonlocal last
        if str(progress) != last:
            last = str(progress)
            notify(last)

    return report


@dataclass(frozen=True)
class MoveOptions:
    """How replicas are moved.

    Attributes:
        throttle: bytes per second into each broker and out of it.
        batch: partitions at once.
        on_progress: called every half second; an exception that it raises ends the moves and turns the batch back.
        clock: gives the time.
    """

    throttle: int = DEFAULT_THROTTLE
    batch: int = DEFAULT_BATCH
    on_progress: Callable[[MoveProgress], None] = lambda _progress: None
    clock: Clock = field(default_factory=SystemClock)


def move(
    administration: KafkaAdministration, targets: Mapping[PartitionKey, tuple[int, ...]], options: MoveOptions
) -> None:
    """Move partitions to these brokers, and return when they are there and their preferred leaders lead.

    Partitions that move there already are waited for. If this is ended by an exception (such as Ctrl-C), the batch
    that is under way goes back to where it was, and what has arrived stays.

    Raises:
        RefusedError: the cluster refused a partition.
        UnreachableError: no broker answered; then the throttle stays until the next plan is applied.
    """
    topics = sorted({topic for topic, _ in targets})
    moves, keys = _Moves(administration, targets, options), sorted(targets)
    try:
        for first in range(0, len(keys), options.batch):
            moves.batch(keys[first : first + options.batch])
    except UnreachableError:
        raise  # no broker can turn back
    except BaseException:
        moves.turn_back()
        administration.unthrottle(topics)
        raise
    administration.unthrottle(topics)
    administration.elect(keys)


def cancel(administration: KafkaAdministration, topics: Collection[str]) -> tuple[PartitionKey, ...]:
    """Turn back every running move of these topics, and remove the throttle.

    Returns:
        the partitions that moved.
    """
    moving = sorted(key for key in administration.moving() if key[0] in topics)
    if moving:
        administration.reassign(dict.fromkeys(moving))
    administration.unthrottle(topics)
    return tuple(moving)


class _Moves:
    """The moves of one call: arrived, under way, and their speed."""

    def __init__(
        self, administration: KafkaAdministration, targets: Mapping[PartitionKey, tuple[int, ...]], options: MoveOptions
    ) -> None:
        self._administration = administration
        self._targets = targets
        self._options = options
        self._topics = sorted({topic for topic, _ in targets})
        moving, states = administration.moving(), self._states()
        self._new = {key: self._added(states[key[0]], key, moving=key in moving) for key in targets}
        sizes = administration.sizes(self._topics) if any(self._new.values()) else {}
        self._size = {key: max(sizes.get(key, {}).values(), default=0) for key in targets}
        self._arrived: set[PartitionKey] = set()
        self._under_way: tuple[PartitionKey, ...] = ()
        self._began = options.clock.monotonic()

    def _states(self) -> Mapping[str, TopicState]:
        """Describe the topics. Any broker may answer, and one may not have heard yet of a topic that is new."""
        clock = self._options.clock
        deadline = clock.monotonic() + _UNHEARD_SECONDS
        while missing := sorted(set(self._topics) - (states := self._administration.describe(self._topics)).keys()):
            if clock.monotonic() > deadline:
                raise RefusedError(
                    f"The cluster shows no topic {', '.join(missing)}, of which replicas were to be moved.",
                    fix="see who deletes topics beside Sluice, and plan again.",
                )
            clock.sleep(_POLL_SECONDS)
        return states

    def batch(self, keys: Sequence[PartitionKey]) -> None:
        """Begin some moves, and wait until they are over."""
        moving, states = self._administration.moving(), self._states()
        copied = [key for key in keys if self._new[key]]
        if copied:
            sources = {key: states[key[0]].replicas[key[1]] for key in copied}
            targets = {key: self._new[key] for key in copied}
            self._administration.throttle(Throttle(self._options.throttle, sources, targets))
        self._under_way = tuple(keys)
        begin = {key: self._targets[key] for key in keys if _settled(states, moving, key) != self._targets[key]}
        if begin:
            self._administration.reassign(begin)
        while left := self._left(keys):
            self._report(left)
            self._options.clock.sleep(_POLL_SECONDS)
        self._arrived.update(keys)
        self._under_way = ()
        self._report(())

    def turn_back(self) -> None:
        """Turn back the batch that is under way."""
        back = dict.fromkeys(self._left(self._under_way))
        if back:
            self._administration.reassign(back)

    def _left(self, keys: Sequence[PartitionKey]) -> tuple[PartitionKey, ...]:
        moving, states = self._administration.moving(), self._states()
        return tuple(key for key in keys if key in moving or states[key[0]].replicas[key[1]] != self._targets[key])

    def _added(self, state: TopicState, key: PartitionKey, *, moving: bool) -> tuple[int, ...]:
        """Return the brokers that a partition is new to, those that it is being copied to included."""
        has = (state.in_sync if moving else state.replicas)[key[1]]
        return tuple(broker for broker in self._targets[key] if broker not in has)

    def _report(self, left: Collection[PartitionKey]) -> None:
        size = sum(self._size[key] * len(new) for key, new in self._new.items())
        copied = sum(self._size[key] * len(self._new[key]) for key in self._arrived)
        if any(self._new[key] for key in left):
            sizes = self._administration.sizes(self._topics)
            copied += sum(min(sizes.get(key, {}).get(to, 0), self._size[key]) for key in left for to in self._new[key])
        spent = self._options.clock.monotonic() - self._began
        seconds = spent * (size - copied) / copied if copied and size >= copied else None
        moved = len(self._arrived) + sum(1 for key in self._under_way if key not in left)
        alive = {broker.id for broker in self._administration.cluster()}
        waiting = sorted({to for key in left for to in self._targets[key]} - alive)
        self._options.on_progress(MoveProgress(moved, len(self._targets), copied, size, seconds, tuple(waiting)))


def _settled(
    states: Mapping[str, TopicState], moving: Mapping[PartitionKey, tuple[int, ...]], key: PartitionKey
) -> tuple[int, ...]:
    """Return where a partition will be when it has moved, if it moves."""
    return tuple(broker for broker in states[key[0]].replicas[key[1]] if broker not in moving.get(key, ()))
