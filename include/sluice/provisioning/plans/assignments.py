"""The brokers of each topic's replicas, by the topic's placement rule. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sluice.provisioning.placement.partition import Partition
from sluice.provisioning.placement.topology import Broker, Topology
from sluice.provisioning.plans.changes import Assignment, Kept, Refused
from sluice.provisioning.plans.declared import ActualCluster, Declared
from sluice.specs.model.topic_shape import FailureDomains
from sluice.wording import listed

_Rule: TypeAlias = tuple[str, ...] | None
"""The domains over which replicas are spread, none for even leaders alone; None: wherever they are."""


PLACEMENT = "placement"
"""The value of a topic that says where its replicas are."""


@dataclass(frozen=True)
class Assignments:
    """The planned replicas of topics.

    Attributes:
        of: the assignment of each topic that has one, including the partitions that it gets.
        refused: the topics for which no assignment was found, and why.
        kept: the topics whose placement cannot be judged now and which nothing else requires to move.
    """

    of: Mapping[str, Assignment]
    refused: tuple[Refused, ...]
    kept: tuple[Kept, ...] = ()


def plan_assignments(declared: Declared, actual: ActualCluster) -> Assignments:
    """Plan the replicas of every topic that has a rule, or another number of replicas than declared.

    Topics of one rule are planned together, so that their leaders and replicas are even together.
    """
    refused: list[Refused] = []
    kept: list[Kept] = []
    groups: dict[_Rule, list[str]] = defaultdict(list)
    for name in sorted(declared.topics):
        rule, wanted = _rule(declared, name), declared.replicas_of(name)
        as_declared = all(len(now) == wanted for now in actual.settled(name))
        if wanted > len(actual.brokers) and not (name in actual.topics and as_declared):
            refused.append(_too_few(declared, actual, name))
        elif rule is None and as_declared:
            continue
        elif missing := _missing(actual, name):
            unjudged = _unjudged(declared, actual, name, missing)
            if isinstance(unjudged, Kept):
                kept.append(unjudged)
            else:
                refused.append(unjudged)
        else:
            groups[rule].append(name)
    planned: dict[str, Assignment] = {}
    for rule, names in groups.items():
        topology = _topology(declared, actual, rule or ())
        if isinstance(topology, Topology):
            assignments, violations = _planned(declared, actual, topology, names)
            planned |= assignments
            refused += [_refusal(declared, actual, name, *whys) for name, whys in violations.items()]
        else:
            refused += [_refusal(declared, actual, name, *topology) for name in names]
    return Assignments(planned, tuple(refused), tuple(kept))


def is_managed(declared: Declared, topic: str) -> bool:
    """Whether a topic has a placement rule, which includes its leaders."""
    return _rule(declared, topic) is not None


def _rule(declared: Declared, topic: str) -> _Rule:
    placement = declared.topics[topic].placement
    if isinstance(placement, FailureDomains):
        return tuple(sorted(placement.failure_domains))
    return () if placement == "balanced-leaders" else None


def _too_few(declared: Declared, actual: ActualCluster, topic: str) -> Refused:
    wanted = declared.replicas_of(topic)
    now = "/".join(sorted({str(len(replicas)) for replicas in actual.settled(topic)})) or "absent"
    why = f"each replica needs a broker of its own, and there are {len(actual.brokers)}"
    return Refused(topic, "replication", now, str(wanted), why, "start brokers, or declare fewer replicas")


def _missing(actual: ActualCluster, topic: str) -> list[int]:
    """Return the brokers that hold replicas of a topic and are not there."""
    held = {broker for replicas in actual.settled(topic) for broker in replicas}
    return sorted(held - {broker.id for broker in actual.brokers})


def _unjudged(declared: Declared, actual: ActualCluster, topic: str, missing: list[int]) -> Refused | Kept:
    """Refuse what needs replicas elsewhere while a broker is away; other changes of the topic do not wait."""
    who = f"{_brokers(missing)} {'holds' if len(missing) == 1 else 'hold'} replicas and cannot be seen"
    unchanged = all(len(replicas) == declared.replicas_of(topic) for replicas in actual.settled(topic))
    if unchanged and declared.topics[topic].partitions == actual.topics[topic].partitions:
        return Kept(topic, PLACEMENT, who, "so it is not judged, and stays")
    why = f"{who}, and a move could take the last copy"
    return _refusal(declared, actual, topic, why, "start what is down: replicas move only while all brokers are there")


def _topology(declared: Declared, actual: ActualCluster, domains: Sequence[str]) -> Topology | tuple[str, str]:
    """Return the brokers with these domains; or why that is not possible, and what to do."""
    if not domains:
        return Topology(Broker(broker.id, {}) for broker in actual.brokers)
    if declared.topology is not None:
        return _from_file(declared.topology, actual, domains)
    unknown = sorted(set(domains) - set(declared.domains))
    if unknown:
        known = ", ".join(declared.domains)
        return (
            f"the deployment knows the failure domains {known}, and not {', '.join(unknown)}",
            "name the parts of broker.rack in `failure_domains` of the deployment, in their order",
        )
    parts = {broker.id: (broker.rack or "").split("/") for broker in actual.brokers}
    odd = [identity for identity, values in parts.items() if len(values) != len(declared.domains) or not all(values)]
    if odd:
        shape = "/".join(declared.domains)
        return (
            f"broker.rack has not the form {shape} at {_brokers(odd)}",
            "set it there, or name its parts in `failure_domains` of the deployment",
        )
    named = {identity: dict(zip(declared.domains, values, strict=True)) for identity, values in parts.items()}
    return Topology(Broker(identity, {name: of[name] for name in domains}) for identity, of in named.items())


def _from_file(topology: Topology, actual: ActualCluster, domains: Sequence[str]) -> Topology | tuple[str, str]:
    unknown = sorted(set(domains) - set(topology.domains))
    if unknown:
        return f"the topology file has no domain {', '.join(unknown)}", "add it to each of its brokers"
    missing = [broker.id for broker in actual.brokers if broker.id not in topology.by_id]
    if missing:
        return f"the topology file does not have {_brokers(missing)}", "add what the cluster has"
    alive = [topology.by_id[broker.id] for broker in actual.brokers]
    return Topology(Broker(broker.id, {name: broker.domains[name] for name in domains}) for broker in alive)


def _planned(
    declared: Declared, actual: ActualCluster, topology: Topology, names: Sequence[str]
) -> tuple[dict[str, Assignment], dict[str, tuple[str, str]]]:
    """Return the assignments that the checker has proved, and why and what to do where there is none."""
    # Parsing a DAG file must not pay for numpy's import.
    from sluice.provisioning.placement.check import check_placement  # noqa: PLC0415
    from sluice.provisioning.placement.explanation import explain_infeasible  # noqa: PLC0415
    from sluice.provisioning.placement.planner import plan_placement  # noqa: PLC0415

    before = [partition for name in names for partition in _partitions(declared, actual, name)]
    after = plan_placement(topology, before)
    report = check_placement(topology, before, after)
    why = {}
    for partition in report.infeasible:
        reason = explain_infeasible(topology, partition.replication)
        why[partition.topic] = reason, "add such a broker, or declare fewer replicas or domains"
    for violation in report.violations:
        why[violation.topic] = f"the plan breaks its own rule ({violation})", "report this: it is a fault of Sluice"
    assigned: dict[str, list[tuple[int, ...]]] = defaultdict(list)
    for partition in after:
        assigned[partition.topic].append(partition.replicas)
    return {name: tuple(assignment) for name, assignment in assigned.items() if name not in why}, why


def _partitions(declared: Declared, actual: ActualCluster, topic: str) -> Iterator[Partition]:
    now = actual.settled(topic)
    for number in range(max(len(now), declared.topics[topic].partitions)):
        replicas = now[number] if number < len(now) else ()
        size = actual.sizes.get((topic, number), 0)
        # In powers of two: what arrives between a plan and its approval makes no other plan of it.
        yield Partition(topic, number, replicas, declared.replicas_of(topic), 1 << size.bit_length() if size else 0)


def _refusal(declared: Declared, actual: ActualCluster, topic: str, why: str, fix: str) -> Refused:
    placement = declared.topics[topic].placement
    wanted = ", ".join(placement.failure_domains) if isinstance(placement, FailureDomains) else placement
    brokers = sorted({broker for replicas in actual.settled(topic) for broker in replicas})
    return Refused(topic, PLACEMENT, f"on {_brokers(brokers)}" if brokers else "absent", wanted, why, fix)


def _brokers(ids: Sequence[int]) -> str:
    """Return some ids for a message, and how many more there are."""
    return f"broker{'' if len(ids) == 1 else 's'} {listed(ids, 3)}"
