"""What a plan holds: changes, refusals, and what stays although no spec declares it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self, TypeAlias

from sluice.provisioning.access.acl import Acl
from sluice.provisioning.access.administration import Credential
from sluice.topics.administration import TopicCreation
from sluice.wording import ExplainedEnum

Assignment: TypeAlias = tuple[tuple[int, ...], ...]
"""Broker ids per partition, the preferred leader first."""


class Risk(ExplainedEnum):
    """What has to happen before a change is applied."""

    SAFE = "safe", "readers and writers do not notice"
    APPROVAL = (
        "approval",
        "readers or writers notice, or it cannot be undone",
        "read the plan, then apply it by its id",
    )
    LOSS = "loss", "records are deleted", "name the topic when you apply it"
    WIDENING = "widening", "a right is opened to everyone, or to everything", "name the principal when you apply it"


class ChangeKind(StrEnum):
    """What is done."""

    CREATE = "create"
    GROW = "grow"
    SET = "set"
    MOVE = "move"
    ELECT = "elect"
    UNTHROTTLE = "unthrottle"
    DELETE = "delete"
    GRANT = "grant"
    REVOKE = "revoke"
    SET_PASSWORD = "set password"  # noqa: S105 - none
    DROP_PASSWORD = "drop password"  # noqa: S105 - none


@dataclass(frozen=True)
class PartitionIncrease:
    """New partitions of a topic.

    Attributes:
        before: how many partitions it has.
        after: how many it gets.
        keyed: whether records of one key have to stay in order.
        assignment: broker ids of each new partition; empty: the cluster decides.
    """

    before: int
    after: int
    keyed: bool
    assignment: Assignment


@dataclass(frozen=True)
class ConfigUpdate:
    """Another value of a configuration; None is the broker's default."""

    before: str | None
    after: str | None


@dataclass(frozen=True)
class Reassignment:
    """Replicas that move to other brokers, become more or fewer, or get another order.

    Attributes:
        before: broker ids per partition, as they are when running moves have ended.
        after: broker ids per partition, the preferred leader first.
        under_way: whether some of its partitions are moving already.
    """

    before: Assignment
    after: Assignment
    under_way: bool = False

    @property
    def copies(self) -> int:
        """New replicas."""
        return sum(len(set(after) - set(before)) for before, after in zip(self.before, self.after, strict=True))

    @property
    def removals(self) -> int:
        """Replicas that are deleted."""
        return sum(len(set(before) - set(after)) for before, after in zip(self.before, self.after, strict=True))


@dataclass(frozen=True)
class LeaderElection:
    """The broker that leads a partition, and the preferred one, per partition."""

    leaders: Mapping[int, tuple[int | None, int]]


@dataclass(frozen=True)
class PasswordUpdate:
    """A password that is set: how the cluster keeps it, and the name of the variable that holds it."""

    credential: Credential
    variable: str


Detail: TypeAlias = (
    TopicCreation
    | PartitionIncrease
    | ConfigUpdate
    | Reassignment
    | LeaderElection
    | Acl
    | PasswordUpdate
    | Credential
    | None
)


@dataclass(frozen=True)
class PlannedChange:
    """One difference between specs and cluster that a plan removes.

    Attributes:
        kind: what is done.
        subject: the topic, or the principal as `User:name`.
        value: what of it changes: `partitions`, the name of a configuration, a right.
        current: what the cluster has.
        wanted: what the specs declare.
        risk: what has to happen before it is applied.
        why: what it does, as a clause.
        detail: what applying it needs.
    """

    kind: ChangeKind
    subject: str
    value: str
    current: str
    wanted: str
    risk: Risk
    why: str
    detail: Detail = None

    @property
    def is_transient(self) -> bool:
        """Whether it comes and goes by itself: leaders change whenever a broker restarts, moves end."""
        return self.kind is ChangeKind.ELECT or (
            isinstance(self.detail, Reassignment) and self.detail.before == self.detail.after
        )

    def decided(self) -> dict[str, Any]:
        """Return what an approval stands for, as values for JSON: not how many records have arrived since."""
        fields = asdict(self)
        del fields["why"]
        if isinstance(self.detail, Reassignment):
            del fields["detail"]["under_way"]
        return fields

    def __str__(self) -> str:
        """Return it in one clause."""
        if self.kind is ChangeKind.CREATE:
            return f"{self.subject}: create with {self.wanted}"
        if self.kind is ChangeKind.DELETE:
            return f"{self.subject}: delete"
        return f"{self.subject}: {self.value} is {self.current}, declared {self.wanted}"


@dataclass(frozen=True)
class _Remaining:
    """A difference that no plan removes.

    Attributes:
        subject: the topic, or the principal as `User:name`.
        value: what of it: `topic`, `partitions`, the name of a configuration, `access`, `password`.
        current: what the cluster has, as far as it can be seen.
        wanted: what the specs declare.
        why: a clause without an end.
        fix: what to do instead, likewise.
    """

    subject: str
    value: str
    current: str
    wanted: str
    why: str
    fix: str

    def __str__(self) -> str:
        """Return it in one clause, without why."""
        return f"{self.subject}: {self.value} is {self.current}, declared {self.wanted}"


class Refused(_Remaining):
    """A difference that no plan may remove."""

    @classmethod
    def of(cls, change: PlannedChange, why: str, fix: str) -> Self:
        """Return a change as one that is refused."""
        return cls(change.subject, change.value, change.current, change.wanted, why, fix)


class Unable(_Remaining):
    """What is declared and cannot be done by Kafka's protocol at this service: nothing of it is attempted.

    `fix` is what to do in the service.
    """


@dataclass(frozen=True)
class Kept:
    """What differs from the specs, or is in none, and stays; `why` is a clause after the value."""

    subject: str
    value: str
    current: str
    why: str = "is in no spec, and stays"

    def __str__(self) -> str:
        """Return it in one clause."""
        current = f" ({self.current})" if is_principal(self.subject) else f"={self.current}"
        return f"{self.subject}: {self.value}{current} {self.why}"


def is_principal(subject: str) -> bool:
    """Whether a subject is a principal: no topic's name has a colon."""
    return ":" in subject
