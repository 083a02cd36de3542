"""One plan of topics and access: an id, what somebody has to read, and what may be lost or opened by it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, TypeAlias

from sluice.provisioning.access import changes as access_changes
from sluice.provisioning.access import plan as access_plan
from sluice.provisioning.access.plan import AccessPlan
from sluice.provisioning.topics import changes as topic_changes
from sluice.provisioning.topics import plan as topic_plan
from sluice.provisioning.topics.changes import Elect, Kept, Reassign, Refused, Risk, sentence
from sluice.provisioning.topics.plan import Plan

Item: TypeAlias = topic_changes.Item | access_changes.Item

_ID_LENGTH = 12


@dataclass(frozen=True)
class Provision:
    """What stands between the specs and the cluster.

    Attributes:
        topics: of the topics.
        access: of the principals; None where nobody asked: none is declared, or the cluster asks nobody who he is.
    """

    topics: Plan
    access: AccessPlan | None = None

    def __bool__(self) -> bool:
        return bool(self.topics or self.access)

    @property
    def id(self) -> str:
        """A name for exactly this plan of exactly this state."""
        if self.access is None:
            return self.topics.id
        return hashlib.sha256(f"{self.topics.id} {self.access.id}".encode()).hexdigest()[:_ID_LENGTH]

    @property
    def items(self) -> tuple[Item, ...]:
        """What would be done: of topics, then of principals; each ordered by name and value."""
        return (*self.topics.items, *(self.access.items if self.access else ()))

    @property
    def refused(self) -> tuple[Refused, ...]:
        """What differs and would not be done; then nothing is."""
        return self.topics.refused

    @property
    def kept(self) -> tuple[Kept, ...]:
        """What no spec names, and nobody touches."""
        return (*self.topics.kept, *(self.access.kept if self.access else ()))

    @property
    def guarded(self) -> tuple[Item, ...]:
        """The items that somebody has to approve."""
        return tuple(item for item in self.items if item.risk is not Risk.SAFE)

    @property
    def losing(self) -> tuple[str, ...]:
        """The topics of which records may go."""
        return self.topics.losing

    @property
    def widening(self) -> tuple[str, ...]:
        """The principals by which something is opened."""
        return self.access.widening if self.access else ()

    def __str__(self) -> str:
        """Return what differs in one sentence without an end."""
        return "; ".join(map(said, (*self.refused, *self.items)))


def said(each: Item | Refused) -> str:
    """Return what differs in one clause."""
    if isinstance(each, Refused | topic_changes.Item):
        return sentence(each)
    return f"{each.topic}: {each.value} is {each.current}, declared {each.wanted}"


def comes_and_goes(each: Item | Refused) -> bool:
    """Whether a difference is none to tell of: leaders change whenever a broker restarts, moves are under way."""
    return isinstance(each, Elect) or (isinstance(each, Reassign) and each.before == each.after)


def differences(found: Provision) -> tuple[Item | Refused, ...]:
    """Return what is not as declared, ordered by topic or principal, and value."""
    lasting = (each for each in (*found.items, *found.refused) if not comes_and_goes(each))
    return tuple(sorted(lasting, key=lambda each: (each.topic, each.value)))


def differences_as_dict(found: Provision) -> list[dict[str, Any]]:
    """Return what is not as declared as JSON values; `risk` is `refused` where no plan makes it as declared."""
    return [
        {
            "topic": each.topic,
            "value": each.value,
            "current": each.current,
            "wanted": each.wanted,
            "risk": "refused" if isinstance(each, Refused) else each.risk.value,
            "why": each.why,
        }
        for each in differences(found)
    ]


def as_dict(found: Provision) -> dict[str, Any]:
    """Return a plan as JSON values, for machines; `access` is null where nobody asked."""
    access = None if found.access is None else access_plan.as_dict(found.access)
    if access is not None:
        access = {key: value for key, value in access.items() if key != "id"}
    return {**topic_plan.as_dict(found.topics), "id": found.id, "access": access}
