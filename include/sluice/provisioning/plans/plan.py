"""A plan of topics and access: what differs, what has to be approved, and the id that an approval names. Pure.

The id stands for the changes and for the state that they were planned for: an approval holds for that, and not for what
the cluster or the specs have become since.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from sluice.provisioning.access.acl import Acl
from sluice.provisioning.access.administration import Credential
from sluice.provisioning.plans.changes import (
    ChangeKind,
    Kept,
    PlannedChange,
    Reassignment,
    Refused,
    Risk,
    Unable,
    is_principal,
)
from sluice.topics.administration import TopicState
from sluice.topics.replica_administration import THROTTLED

_ID_LENGTH = 12


@dataclass(frozen=True)
class Plan:
    """The difference between the specs and the cluster: topics first, each part ordered by subject and value.

    Attributes:
        changes: what would be done.
        refused: what differs and no plan changes; with any of it nothing is done.
        kept: what no spec names, or cannot be judged now: it stays.
        topics: the declared topics as the cluster has them, also those declared absent, after running moves.
        access: what the cluster has of the declared principals; None: the plan is not about access.
        unable: what the service does not do by Kafka's protocol: it is no difference, and nobody tries it.
    """

    changes: tuple[PlannedChange, ...] = ()
    refused: tuple[Refused, ...] = ()
    kept: tuple[Kept, ...] = ()
    topics: tuple[TopicState, ...] = ()
    access: tuple[Acl | Credential, ...] | None = None
    unable: tuple[Unable, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes or self.refused)

    @cached_property
    def id(self) -> str:
        """A name for exactly this plan of exactly this state, the same in every process."""
        lasting = (each for each in self.changes if not each.is_transient and each.kind is not ChangeKind.UNTHROTTLE)
        changes = [each.decided() for each in lasting]
        topics = [
            (state.name, state.topic_id, state.replicas, {k: v for k, v in state.configs.items() if k not in THROTTLED})
            for state in self.topics
        ]
        stays = [*map(asdict, self.refused), *map(asdict, self.kept), *map(asdict, self.unable)]
        access = None if self.access is None else [asdict(each) for each in self.access]
        meaning = json.dumps([changes, topics, stays, access], sort_keys=True)
        return hashlib.sha256(meaning.encode()).hexdigest()[:_ID_LENGTH]

    @property
    def guarded(self) -> tuple[PlannedChange, ...]:
        """The changes that have to be approved."""
        return tuple(change for change in self.changes if change.risk is not Risk.SAFE)

    @property
    def losing(self) -> tuple[str, ...]:
        """The topics of which records may go."""
        return self._subjects(Risk.LOSS)

    @property
    def widening(self) -> tuple[str, ...]:
        """The principals by which something is opened."""
        return self._subjects(Risk.WIDENING)

    @property
    def differences(self) -> tuple[PlannedChange | Refused, ...]:
        """What is not as declared, without what is transient; ordered by subject and value."""
        lasting: list[PlannedChange | Refused] = [
            *(change for change in self.changes if not change.is_transient),
            *self.refused,
        ]
        return tuple(sorted(lasting, key=lambda each: (each.subject, each.value)))

    def with_access(self, access: Plan) -> Plan:
        """Return one plan of the topics in this one and the principals in another."""
        changes, kept = (*self.changes, *access.changes), (*self.kept, *access.kept)
        return replace(self, changes=changes, kept=kept, access=access.access, unable=(*self.unable, *access.unable))

    def _subjects(self, risk: Risk) -> tuple[str, ...]:
        return tuple(sorted({change.subject for change in self.changes if change.risk is risk}))

    def __str__(self) -> str:
        """Return what differs in one sentence without an end."""
        return "; ".join(map(str, (*self.refused, *self.changes)))


def as_dict(plan: Plan) -> dict[str, Any]:
    """Return a plan as JSON values; `access` is null where the plan is not about it."""
    return {
        "id": plan.id,
        "items": [_change(each) for each in plan.changes if not is_principal(each.subject)],
        "refused": [_renamed(asdict(each), "topic") for each in plan.refused],
        "kept": [_renamed(asdict(each), "topic") for each in plan.kept if not is_principal(each.subject)],
        "access": None if plan.access is None else access_as_dict(plan),
        "unable": unable_as_dict(plan),
    }


def unable_as_dict(plan: Plan) -> list[dict[str, Any]]:
    """Return what a plan says that the service does not do as JSON values."""
    return [asdict(each) for each in plan.unable]


def access_as_dict(plan: Plan) -> dict[str, Any]:
    """Return what a plan says of principals as JSON values."""
    kept = [each for each in plan.kept if is_principal(each.subject)]
    return {
        "items": [_change(each) for each in plan.changes if is_principal(each.subject)],
        "kept": [{"principal": each.subject, "value": each.value, "current": each.current} for each in kept],
    }


def differences_as_dict(plan: Plan) -> list[dict[str, Any]]:
    """Return what is not as declared as JSON values; `risk` is `refused` where no plan changes it."""
    return [
        {
            "topic": each.subject,
            "value": each.value,
            "current": each.current,
            "wanted": each.wanted,
            "risk": "refused" if isinstance(each, Refused) else each.risk.value,
            "why": each.why,
        }
        for each in plan.differences
    ]


def _change(change: PlannedChange) -> dict[str, Any]:
    record = {
        "change": change.kind.value,
        "principal" if is_principal(change.subject) else "topic": change.subject,
        **{name: getattr(change, name) for name in ("value", "current", "wanted", "why")},
        "risk": change.risk.value,
    }
    if isinstance(change.detail, Reassignment):
        record["assignment"] = {str(p): list(replicas) for p, replicas in enumerate(change.detail.after)}
    return record


def _renamed(values: Mapping[str, Any], subject: str) -> dict[str, Any]:
    return {subject if name == "subject" else name: value for name, value in values.items()}
