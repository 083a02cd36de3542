"""What a plan may change, one item per value of a topic: what is, what is wanted, why, and what it risks. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import gcd
from typing import TypeAlias

from sluice.topics.administration import TopicCreation

UNSET = "unset"


class Risk(StrEnum):
    """What somebody has to do before an item is applied."""

    SAFE = "safe"  # nothing: whoever reads or writes does not notice
    APPROVAL = "approval"  # read it: it is felt, or cannot be undone
    LOSS = "loss"  # name the topic: records go


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
    """

    topic: str
    partitions: int
    more: int
    keyed: bool = True

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


Item: TypeAlias = Create | Grow | SetConfig


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
    """A configuration that is set on a topic and that its spec does not name: it stays as it is."""

    topic: str
    value: str
    current: str


def sentence(of: Item | Refused) -> str:
    """Return what differs in one clause."""
    if isinstance(of, Create):
        return f"{of.topic}: create with {of.wanted}"
    return f"{of.topic}: {of.value} is {of.current}, declared {of.wanted}"
