"""What a service does not do by Kafka's protocol is taken out of a plan and listed, with what to do instead. Pure.

A plan is made as for any Kafka, and divided here: nothing of what is listed is attempted, and nothing of it is a
difference, or drift would be reported for as long as the service is what it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from sluice.provisioning.access.acl import Acl
from sluice.provisioning.access.administration import Credential
from sluice.provisioning.plans.changes import (
    Assignment,
    ChangeKind,
    ConfigUpdate,
    Kept,
    PartitionIncrease,
    PasswordUpdate,
    PlannedChange,
    Refused,
    Unable,
)
from sluice.provisioning.plans.declared import ActualCluster, Declared
from sluice.provisioning.plans.plan import Plan
from sluice.provisioning.plans.topic_changes import UNSET, create
from sluice.specs.deployments.services import Elsewhere, KafkaService
from sluice.specs.model.topic_shape import FailureDomains
from sluice.topics.administration import TopicCreation
from sluice.topics.identity import is_by_name

_NOT_CONFIGS = frozenset({"topic", "partitions", "replication", "placement", "leaders"})
_NO_ASSIGNMENT: Assignment = ()
_NO_ID = (
    "because the cluster gives topics none: one that is deleted and created again under its name is recognised by "
    "its offsets only, so stop its streams before, and reset them after"
)

Divided: TypeAlias = Iterator[PlannedChange | Unable]


def within(plan: Plan, service: KafkaService) -> Plan:
    """Return a plan of topics as far as a service does it, with the rest listed as what it does not."""
    parts = [part for change in plan.changes for part in _divided(change, service)]
    refused = [_unless_elsewhere(each, service) for each in plan.refused]
    return replace(
        plan,
        changes=tuple(part for part in parts if isinstance(part, PlannedChange)),
        refused=tuple(each for each in refused if isinstance(each, Refused)),
        unable=_ordered([*plan.unable, *(each for each in (*parts, *refused) if isinstance(each, Unable))]),
    )


def access_within(plan: Plan, service: KafkaService) -> Plan:
    """Return a plan of access as far as a service does it: of each principal one line says what it does not."""
    left: list[PlannedChange] = []
    rights: dict[str, list[PlannedChange]] = {}
    unable: list[Unable] = []
    for change in plan.changes:
        if isinstance(change.detail, Acl) and service.rights is not None:
            rights.setdefault(change.subject, []).append(change)
        elif isinstance(change.detail, PasswordUpdate | Credential) and service.passwords is not None:
            unable.append(_unable(change, service.passwords, current="not seen"))
        else:
            left.append(change)
    for subject, changes in rights.items():
        if service.rights is not None:
            declared = "; ".join(change.value for change in changes)
            unable.append(Unable(subject, "access", "not seen", declared, service.rights.why, service.rights.fix))
    return replace(plan, changes=tuple(left), unable=_ordered([*plan.unable, *unable]))


def placed_elsewhere(declared: Declared, actual: ActualCluster) -> list[Unable]:
    """Return what is declared of replicas that the service places itself."""
    service = declared.service
    if service.placement is None:
        return []
    unable = []
    for name, spec in sorted(declared.topics.items()):
        why, fix = service.placement.why, service.placement.fix
        if spec.placement != "any":
            rule = spec.placement
            wanted = ", ".join(rule.failure_domains) if isinstance(rule, FailureDomains) else rule
            unable.append(Unable(name, "placement", "the service's own", wanted, why, fix))
        counts = {len(replicas) for replicas in actual.settled(name)}
        if service.replication is not None and name not in actual.topics:
            counts = {service.replication}
        if spec.replication is not None and counts and counts != {spec.replication}:
            now = "/".join(map(str, sorted(counts)))
            unable.append(Unable(name, "replication", now, str(spec.replication), why, fix))
    return unable


def without_ids(actual: ActualCluster) -> list[Kept]:
    """Return a line for each topic to which the cluster gives no id, with what that means."""
    return [
        Kept(name, "id", "none", _NO_ID) for name, state in sorted(actual.topics.items()) if is_by_name(state.topic_id)
    ]


def _divided(change: PlannedChange, service: KafkaService) -> Divided:
    detail = change.detail
    if change.kind in (ChangeKind.CREATE, ChangeKind.GROW, ChangeKind.DELETE) and service.topics is not None:
        yield _unable(change, service.topics)
    elif isinstance(detail, TopicCreation):
        yield from _creation(detail, service)
    elif isinstance(detail, PartitionIncrease) and service.placement is not None:
        yield replace(change, detail=replace(detail, assignment=_NO_ASSIGNMENT))
    elif isinstance(detail, ConfigUpdate) and not service.sets(change.value):
        yield _unable(change, service.other_configs)
    elif change.kind in (ChangeKind.MOVE, ChangeKind.ELECT, ChangeKind.UNTHROTTLE) and service.placement is not None:
        return  # the service's own doing: what specs declare of it is listed by `placed_elsewhere`
    else:
        yield change


def _creation(creation: TopicCreation, service: KafkaService) -> Divided:
    configs = {key: value for key, value in creation.configs.items() if service.sets(key)}
    assignment = creation.assignment if service.placement is None else _NO_ASSIGNMENT
    replication = service.replication or creation.replication
    yield create(replace(creation, configs=configs, replication=replication, assignment=assignment))
    yield from _configs(creation.name, creation.configs, service)


def _configs(topic: str, configs: Mapping[str, str], service: KafkaService) -> Iterator[Unable]:
    why, fix = service.other_configs.why, service.other_configs.fix
    for key, value in sorted(configs.items()):
        if not service.sets(key):
            yield Unable(topic, key, UNSET, value, why, fix)


def _unless_elsewhere(refused: Refused, service: KafkaService) -> Refused | Unable:
    """Return a refusal, unless it is about what the service does not do anyway."""
    if refused.value in _NOT_CONFIGS or service.sets(refused.value):
        return refused
    return _unable(refused, service.other_configs)


def _unable(change: PlannedChange | Refused, elsewhere: Elsewhere, *, current: str | None = None) -> Unable:
    now = change.current if current is None else current
    return Unable(change.subject, change.value, now, change.wanted, elsewhere.why, elsewhere.fix)


def _ordered(unable: Iterable[Unable]) -> tuple[Unable, ...]:
    return tuple(sorted(unable, key=lambda each: (each.subject, each.value)))
