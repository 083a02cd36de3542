"""What a plan may change, one item per value of a topic: what is, what is wanted, why, and what it risks. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd
from typing import TypeAlias

from sluice.explained import ExplainedEnum
from sluice.topics.administration import TopicCreation

UNSET = "unset"


class Risk(ExplainedEnum):
    """What somebody has to do before an item is applied."""

    SAFE = "safe", "readers and writers do not notice"
    APPROVAL = "approval", "readers or writers notice, or it cannot be undone", "read the plan, then apply it by its id"
    LOSS = "loss", "records are deleted", "name the topic when you apply it"
    WIDENING = "widening", "a right is opened to everyone, or to everything", "name the principal when you apply it"


@dataclass(frozen=True)
class Approval:
    """What somebody has read and wants.

    Attributes:
        plan: the plan's id.
        losing: the topics of which records may go, named one by one.
        widening: the principals by which something may be opened, named one by one.
    """

    plan: str
    losing: frozenset[str] = frozenset()
    widening: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Create:
    """A declared topic that does not exist."""

    creation: TopicCreation

    @property
    def topic(self) -> str:
        """The topic's name."""
        return self.creation.name

    @property
    def value(self) -> str:
        """What of it changes."""
        return "topic"

    @property
    def current(self) -> str:
        """What there is."""
        return "absent"

    @property
    def wanted(self) -> str:
        """What is declared."""
        shape = f"{self.creation.partitions} partitions, replication {self.creation.replication}"
        return ", ".join([shape, *(f"{key}={value}" for key, value in sorted(self.creation.configs.items()))])

    @property
    def risk(self) -> Risk:
        """What it risks."""
        return Risk.SAFE

    @property
    def why(self) -> str:
        """What it does, as a clause."""
        return "it is declared and not there"


@dataclass(frozen=True)
class Grow:
    """A topic that gets partitions, which cannot be taken away again.

    Attributes:
        partitions: how many it has.
        more: how many it shall have.
        keyed: whether records of one key have to stay in order.
        assignment: broker ids of each partition that it gets; empty: as the cluster likes.
    """

    topic: str
    partitions: int
    more: int
    keyed: bool = True
    assignment: tuple[tuple[int, ...], ...] = ()

    @property
    def value(self) -> str:
        """What of it changes."""
        return "partitions"

    @property
    def current(self) -> str:
        """What there is."""
        return str(self.partitions)

    @property
    def wanted(self) -> str:
        """What is declared."""
        return str(self.more)

    @property
    def risk(self) -> Risk:
        """What it risks."""
        return Risk.APPROVAL

    @property
    def why(self) -> str:
        """What it does, as a clause."""
        if not self.keyed:
            return "partitions can never be taken away again"
        moved = 1 - gcd(self.partitions, self.more) / self.more  # a key stays where both remainders of its hash agree
        return (
            f"partitions can never be taken away again, and {moved:.0%} of all keys get another partition: "
            "what follows there may overtake what waits in the old one"
        )


@dataclass(frozen=True)
class SetConfig:
    """A configuration of an existing topic that gets another value, or the broker's default.

    Attributes:
        value: its name.
        before: what the topic has; None if nothing is set on it.
        after: what it shall have; None for the broker's default.
        why: what that does, as a clause.
    """

    topic: str
    value: str
    before: str | None
    after: str | None
    risk: Risk
    why: str

    @property
    def current(self) -> str:
        """What there is."""
        return UNSET if self.before is None else self.before

    @property
    def wanted(self) -> str:
        """What is declared."""
        return UNSET if self.after is None else self.after


@dataclass(frozen=True)
class Reassign:
    """Replicas of a topic that shall lie elsewhere, be more or fewer, or have another order.

    Attributes:
        value: `replication` or `placement`.
        before: broker ids per partition, as they are when what moves has moved.
        after: broker ids per partition, the preferred leader first.
        size: bytes to be copied; 0 where nobody knows.
        under_way: whether some of its partitions are moving already.
    """

    topic: str
    value: str
    before: tuple[tuple[int, ...], ...]
    after: tuple[tuple[int, ...], ...]
    size: int = 0
    under_way: bool = False

    @property
    def moves(self) -> int:
        """New replicas."""
        return sum(len(set(after) - set(before)) for before, after in zip(self.before, self.after, strict=True))

    @property
    def removals(self) -> int:
        """Replicas that go."""
        return sum(len(set(before) - set(after)) for before, after in zip(self.before, self.after, strict=True))

    @property
    def current(self) -> str:
        """What there is."""
        return self._shown(self.before)

    @property
    def wanted(self) -> str:
        """What is declared."""
        return self._shown(self.after)

    @property
    def risk(self) -> Risk:
        """What it risks."""
        return Risk.APPROVAL if self.moves or self.removals else Risk.SAFE

    @property
    def why(self) -> str:
        """What it does, as a clause."""
        if self.before == self.after:
            return "it has begun, and nobody has seen its end"
        said = [_count(self.moves, "replica is copied", "replicas are copied")] if self.moves else []
        if self.size:
            said[-1] += f" ({_megabytes(self.size)})"
        if self.removals > self.moves:
            said.append(_count(self.removals - self.moves, "copy goes for good", "copies go for good"))
        return ", ".join(said) or "the same brokers in another order, so that leaders are even: nothing is copied"

    def _shown(self, assignment: tuple[tuple[int, ...], ...]) -> str:
        if self.value == "replication":
            counts = [len(replicas) for replicas in assignment]
            uneven = ", ".join(f"{count} on partition {partition}" for partition, count in enumerate(counts))
            return str(counts[0]) if len(set(counts)) == 1 else uneven
        changed = [p for p in range(len(assignment)) if self.before[p] != self.after[p]]
        shown = [f"{p} on {','.join(map(str, assignment[p]))}" for p in changed[:_MOST_SHOWN]]
        more = len(changed) - _MOST_SHOWN
        return "; ".join([*shown, *([f"{more} more"] if more > 0 else [])]) or "moving"


@dataclass(frozen=True)
class Elect:
    """Partitions that another broker leads than the first of their replicas, which is in sync.

    Attributes:
        leaders: the broker that leads, and the one that shall, per partition.
    """

    topic: str
    leaders: Mapping[int, tuple[int | None, int]]

    @property
    def value(self) -> str:
        """What of it changes."""
        return "leaders"

    @property
    def current(self) -> str:
        """What there is."""
        return self._shown(0)

    @property
    def wanted(self) -> str:
        """What is declared."""
        return self._shown(1)

    @property
    def risk(self) -> Risk:
        """What it risks."""
        return Risk.SAFE

    @property
    def why(self) -> str:
        """What it does, as a clause."""
        return "the preferred leaders are in sync; clients follow within a second"

    def _shown(self, which: int) -> str:
        shown = [f"{p} by {pair[which] or 'nobody'}" for p, pair in sorted(self.leaders.items())[:_MOST_SHOWN]]
        more = len(self.leaders) - _MOST_SHOWN
        return "; ".join([*shown, *([f"{more} more"] if more > 0 else [])])


@dataclass(frozen=True)
class Unthrottle:
    """A topic on which a move has left its throttle, as one does that was killed."""

    topic: str
    replicas: str

    @property
    def value(self) -> str:
        """What of it changes."""
        return "replication.throttled.replicas"

    @property
    def current(self) -> str:
        """What there is."""
        return self.replicas

    @property
    def wanted(self) -> str:
        """What is declared."""
        return UNSET

    @property
    def risk(self) -> Risk:
        """What it risks."""
        return Risk.SAFE

    @property
    def why(self) -> str:
        """What it does, as a clause."""
        return "a move that is over left its throttle, which would slow down a replica that has to catch up"


@dataclass(frozen=True)
class Delete:
    """A topic that is declared absent and that there is."""

    topic: str
    partitions: int

    @property
    def value(self) -> str:
        """What of it changes."""
        return "topic"

    @property
    def current(self) -> str:
        """What there is."""
        return f"{self.partitions} partitions"

    @property
    def wanted(self) -> str:
        """What is declared."""
        return "absent"

    @property
    def risk(self) -> Risk:
        """What it risks."""
        return Risk.LOSS

    @property
    def why(self) -> str:
        """What it does, as a clause."""
        return "the topic is deleted, with all of its records"


Item: TypeAlias = Create | Grow | SetConfig | Reassign | Elect | Unthrottle | Delete
_MOST_SHOWN = 3


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


@dataclass(frozen=True)
class Refused:
    """A value that differs from its spec and that no plan changes: why, and what to do instead."""

    topic: str
    value: str
    current: str
    wanted: str
    why: str
    fix: str


@dataclass(frozen=True)
class Kept:
    """What stays as it is and should be known: a configuration on a topic that its spec does not name, or a placement.

    Attributes:
        why: as a clause after the value.
    """

    topic: str
    value: str
    current: str
    why: str = "is in no spec, and stays"


def sentence(of: Item | Refused) -> str:
    """Return what differs in one clause."""
    if isinstance(of, Create):
        return f"{of.topic}: create with {of.wanted}"
    if isinstance(of, Delete):
        return f"{of.topic}: delete"
    return f"{of.topic}: {of.value} is {of.current}, declared {of.wanted}"
