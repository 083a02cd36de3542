"""Replicas on their way: in batches, under a throttle that goes when they have arrived, whatever comes in between.

Where the process that moves them is killed, Kafka goes on with the batch that it has; the next plan says that it is
under way, the next apply waits for it, moves the rest and removes the throttle.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from sluice.clock import Clock, SystemClock
from sluice.errors import UnreachableError
from sluice.topics.administration import KafkaAdministration, TopicState
from sluice.topics.replica_administration import PartitionKey, Throttle

DEFAULT_THROTTLE = 50_000_000
"""Bytes per second into each broker and out of it."""
DEFAULT_BATCH = 20
"""Partitions that move at once."""
_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class MoveProgress:
    """How far the moves are.

    Attributes:
        moved: partitions that have arrived.
        partitions: partitions that move.
        copied: bytes of new replicas that are there, of those that move at present and of those that have.
        size: bytes of new replicas altogether, as far as they are known.
        seconds_left: at the speed so far; None where nobody can say.
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
        said = f"{self.moved} of {self.partitions} partitions moved"
        if self.size:
            said += f", {self.copied / 1e6:,.1f} of {self.size / 1e6:,.1f} MB copied"
        if self.seconds_left is not None:
            said += f", about {self.seconds_left:.0f} s left"
        return said + (f"; waits for broker {', '.join(map(str, self.waiting_for))}" if self.waiting_for else "")


def news(tell: Callable[[str], None]) -> Callable[[MoveProgress], None]:
    """Return what tells of moves, each time when there is something else to say."""
    last = ""

    def say(progress: MoveProgress) -> None:
        nonlocal last
        if str(progress) != last:
            last = str(progress)
            tell(last)

    return say


@dataclass(frozen=True)
class MoveOptions:
    """How replicas are moved.

    Attributes:
        throttle: bytes per second into each broker and out of it.
        batch: partitions at once.
        on_progress: told now and then; what it raises ends the moves, and those that are under way go back.
        clock: gives the time.
    """

    throttle: int = DEFAULT_THROTTLE
    batch: int = DEFAULT_BATCH
    on_progress: Callable[[MoveProgress], None] = lambda _progress: None
    clock: Clock = field(default_factory=SystemClock)


def move(
    administration: KafkaAdministration, targets: Mapping[PartitionKey, tuple[int, ...]], pace: MoveOptions
) -> None:
    """Move partitions to these brokers, and return when they are there and their preferred leaders lead.

    Partitions that move there already are waited for. If this is ended by an exception (somebody presses Ctrl-C), the
    batch that is under way goes back to where it was, and what has arrived stays.

    Raises:
        RefusedError: the cluster refused a partition.
        UnreachableError: no broker answered; then the throttle stays until the next plan is applied.
    """
    topics = sorted({topic for topic, _ in targets})
    moves, keys = _Moves(administration, targets, pace), sorted(targets)
    try:
        for first in range(0, len(keys), pace.batch):
            moves.batch(keys[first : first + pace.batch])
    except UnreachableError:
        raise  # nobody can be told to turn back
    except BaseException:
        moves.turn_back()
        administration.unthrottle(topics)
        raise
    administration.unthrottle(topics)
    administration.elect(keys)


def cancel(administration: KafkaAdministration, topics: Collection[str]) -> tuple[PartitionKey, ...]:
    """Have every partition of these topics that moves go back to where it was, and remove the throttle.

    Returns:
        the partitions that moved.
    """
    moving = sorted(key for key in administration.moving() if key[0] in topics)
    if moving:
        administration.reassign(dict.fromkeys(moving))
    administration.unthrottle(topics)
    return tuple(moving)


class _Moves:
    """The moves of one call: what has arrived, what is under way, how fast it goes."""

    def __init__(
        self, administration: KafkaAdministration, targets: Mapping[PartitionKey, tuple[int, ...]], pace: MoveOptions
    ) -> None:
        self._administration = administration
        self._targets = targets
        self._pace = pace
        self._topics = sorted({topic for topic, _ in targets})
        moving, states = administration.moving(), administration.describe(self._topics)
        self._new = {key: self._added(states[key[0]], key, moving=key in moving) for key in targets}
        sizes = administration.sizes(self._topics) if any(self._new.values()) else {}
        self._size = {key: max(sizes.get(key, {}).values(), default=0) for key in targets}
        self._arrived: set[PartitionKey] = set()
        self._under_way: tuple[PartitionKey, ...] = ()
        self._began = pace.clock.monotonic()

    def batch(self, keys: Sequence[PartitionKey]) -> None:
        """Begin some moves, and wait until they are over."""
        moving, states = self._administration.moving(), self._administration.describe(self._topics)
        copied = [key for key in keys if self._new[key]]
        if copied:
            sources = {key: states[key[0]].replicas[key[1]] for key in copied}
            targets = {key: self._new[key] for key in copied}
            self._administration.throttle(Throttle(self._pace.throttle, sources, targets))
        self._under_way = tuple(keys)
        begin = {key: self._targets[key] for key in keys if _settled(states, moving, key) != self._targets[key]}
        if begin:
            self._administration.reassign(begin)
        while left := self._left(keys):
            self._tell(left)
            self._pace.clock.sleep(_POLL_SECONDS)
        self._arrived.update(keys)
        self._under_way = ()
        self._tell(())

    def turn_back(self) -> None:
        """Have the batch that is under way go back."""
        back = dict.fromkeys(self._left(self._under_way))
        if back:
            self._administration.reassign(back)

    def _left(self, keys: Sequence[PartitionKey]) -> tuple[PartitionKey, ...]:
        moving, states = self._administration.moving(), self._administration.describe(self._topics)
        return tuple(key for key in keys if key in moving or states[key[0]].replicas[key[1]] != self._targets[key])

    def _added(self, state: TopicState, key: PartitionKey, *, moving: bool) -> tuple[int, ...]:
        """Return the brokers that a partition is new to; one that it is being copied to is."""
        has = (state.in_sync if moving else state.replicas)[key[1]]
        return tuple(broker for broker in self._targets[key] if broker not in has)

    def _tell(self, left: Collection[PartitionKey]) -> None:
        size = sum(self._size[key] * len(new) for key, new in self._new.items())
        copied = sum(self._size[key] * len(self._new[key]) for key in self._arrived)
        if any(self._new[key] for key in left):
            sizes = self._administration.sizes(self._topics)
            copied += sum(min(sizes.get(key, {}).get(to, 0), self._size[key]) for key in left for to in self._new[key])
        spent = self._pace.clock.monotonic() - self._began
        seconds = spent * (size - copied) / copied if copied and size >= copied else None
        moved = len(self._arrived) + sum(1 for key in self._under_way if key not in left)
        alive = {broker.id for broker in self._administration.cluster()}
        waiting = sorted({to for key in left for to in self._targets[key]} - alive)
        self._pace.on_progress(MoveProgress(moved, len(self._targets), copied, size, seconds, tuple(waiting)))


def _settled(
    states: Mapping[str, TopicState], moving: Mapping[PartitionKey, tuple[int, ...]], key: PartitionKey
) -> tuple[int, ...]:
    """Return where a partition will be when it has moved, if it moves."""
    return tuple(broker for broker in states[key[0]].replicas[key[1]] if broker not in moving.get(key, ()))
