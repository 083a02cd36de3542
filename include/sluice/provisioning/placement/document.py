"""The two files of a placement, read with all of their faults at once, and the result as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeGuard

from sluice.errors import SpecError
from sluice.provisioning.placement.check import Report
from sluice.provisioning.placement.explanation import explain_infeasible
from sluice.provisioning.placement.partition import Partition
from sluice.provisioning.placement.topology import Broker, Topology

MAX_ID = 2**31 - 1
MAX_REPLICATION = 12
"""The search is exponential in it; clusters have 3, and 5 at times."""
MAX_SIZE = 2**46

TOPOLOGY_SHAPE = '{"brokers": [{"id": 1, "domains": {"fault": "0", "update": "3"}}]}'
ASSIGNMENT_SHAPE = '{"topics": {"orders": {"0": [1, 2, 3]}}}'


class PlacementFaults(SpecError):  # noqa: N818 - the plural says that it carries all of them
    """The files of a placement are wrong: all faults of both at once."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        count = f"{len(self.faults)} fault{'' if len(self.faults) == 1 else 's'}"
        super().__init__("\n".join([f"{count}, so nothing was planned:", *self.faults]))


class _Faults:
    """Collects what is wrong in one file."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.found: list[str] = []

    def add(self, where: str, message: str, fix: str) -> None:
        """Add a fault: where it is, what was found and why it is refused, and what to do."""
        place = f"{self._file}: {where}: " if where else f"{self._file}: "
        self.found.append(f"{place}{message} Fix: {fix}")


class _Twice(list[tuple[str, Any]]):
    """A JSON object that names a key twice; as a mapping it would hide one of the values."""


def _pairs(pairs: list[tuple[str, Any]]) -> object:
    mapping = dict(pairs)
    return mapping if len(mapping) == len(pairs) else _Twice(pairs)


def read_placement(
    topology: tuple[str, bytes], assignment: tuple[str, bytes]
) -> tuple[Topology, tuple[Partition, ...]]:
    """Read a topology and the replicas of partitions.

    Raises:
        PlacementFaults: something is wrong in one of them, or between them.
    """
    in_topology, in_assignment = _Faults(topology[0]), _Faults(assignment[0])
    brokers = list(_brokers(_parsed(topology[1], in_topology, TOPOLOGY_SHAPE), in_topology))
    _check_domains(brokers, in_topology)
    partitions = list(_partitions(_parsed(assignment[1], in_assignment, ASSIGNMENT_SHAPE), in_assignment))
    if not in_topology.found:
        _check_brokers(partitions, {broker.id for broker in brokers}, in_assignment)
    if faults := in_topology.found + in_assignment.found:
        raise PlacementFaults(faults)
    return Topology(brokers), tuple(partitions)


def read_topology_file(path: Path) -> Topology:
    """Read a topology file.

    Raises:
        SpecError: the file cannot be read, or something is wrong in it.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SpecError(f"{path} cannot be read: {error.strerror or error}.", fix="name a JSON file.") from error
    faults = _Faults(str(path))
    brokers = list(_brokers(_parsed(content, faults, TOPOLOGY_SHAPE), faults))
    _check_domains(brokers, faults)
    if faults.found:
        raise PlacementFaults(faults.found)
    return Topology(brokers)


def _parsed(content: bytes, faults: _Faults, shape: str) -> Mapping[str, Any]:
    """Return the object at the top; an empty one, and a fault, where there is none."""
    fix = f"write {shape}."
    try:
        data = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_pairs)
    except UnicodeDecodeError as error:
        faults.add("", f"holds a byte that is not UTF-8 (at {error.start}).", fix)
        return {}
    except (json.JSONDecodeError, RecursionError) as error:
        faults.add("", f"is not JSON: {error}.", fix)
        return {}
    document = _object(data, "", faults, fix)
    for key in document.keys() - json.loads(shape).keys() - _OPTIONAL.get(shape, set()):
        faults.add(_shown(key), "is no key of this file, and would be ignored.", fix)
    return document


_OPTIONAL = {ASSIGNMENT_SHAPE: {"replication", "sizes"}}


def _object(data: object, where: str, faults: _Faults, fix: str) -> Mapping[str, Any]:
    if isinstance(data, dict):
        return data
    if isinstance(data, _Twice):
        twice = sorted(key for key, count in Counter(key for key, _ in data).items() if count > 1)
        faults.add(where, f"names {_shown(twice[0])} twice, and one would be lost.", "keep one of the two.")
        return dict(data)
    faults.add(where, f"found {_kind(data)} where an object is needed.", fix)
    return {}


def _brokers(data: Mapping[str, Any], faults: _Faults) -> Iterator[Broker]:
    listed = data.get("brokers")
    fix = f"write {TOPOLOGY_SHAPE}."
    if not isinstance(listed, list) or isinstance(listed, _Twice):
        if not faults.found:
            faults.add("brokers", f"found {_kind(listed)} where a list is needed.", fix)
        return
    if not listed:
        faults.add("brokers", "the list is empty, so there is nowhere to place a replica.", fix)
    seen: dict[int, int] = {}
    for place, item in enumerate(listed):
        before = len(faults.found)
        entry = _object(item, f"brokers[{place}]", faults, fix)
        if len(faults.found) == before and (broker := _broker(entry, place, seen, faults)):
            yield broker


def _broker(entry: Mapping[str, Any], place: int, seen: dict[int, int], faults: _Faults) -> Broker | None:
    """Return one broker; None where its id says of none which it is. `seen` has the places of the ids before it."""
    where, fix = f"brokers[{place}]", f"write {TOPOLOGY_SHAPE}."
    for key in sorted(entry.keys() - {"id", "domains"}):
        faults.add(where, f"{_shown(key)} is no key of a broker, and would be ignored.", fix)
    identity, domains = entry.get("id"), _object(entry.get("domains"), f"{where}.domains", faults, fix)
    if not _is_number(identity, MAX_ID):
        message = f"found {_kind(identity)}; an id is a whole number from 0."
        faults.add(f"{where}.id", message, "write Kafka's broker id.")
        return None
    if identity in seen:
        message = f"broker {identity} is also brokers[{seen[identity]}]; an id means one broker."
        faults.add(f"{where}.id", message, "keep one of the two.")
        return None
    seen[identity] = place
    for name, value in domains.items():
        if not isinstance(value, str) or not value:
            message = f"found {_kind(value)}; a domain's value is text, so that 1 and 01 are not confused."
            faults.add(f"{where}.domains.{name}", message, 'put it in quotes, such as "1".')
    return Broker(identity, domains)


def _check_domains(brokers: Sequence[Broker], faults: _Faults) -> None:
    """Find brokers that lack a domain that another one has: with which others they fail is not known."""
    names = sorted({name for broker in brokers for name in broker.domains})
    if brokers and not names and not faults.found:
        faults.add("brokers", "no broker has a domain, so there is nothing to spread over.", f"write {TOPOLOGY_SHAPE}.")
    for broker in brokers:
        if missing := [name for name in names if name not in broker.domains]:
            having = next(other.id for other in brokers if missing[0] in other.domains)
            faults.add(
                f"broker {broker.id}",
                f"has no {', '.join(missing)}, and broker {having} has; with which others it fails is not known.",
                f"add its value of {', '.join(missing)}.",
            )


def _partitions(data: Mapping[str, Any], faults: _Faults) -> Iterator[Partition]:
    fix = f"write {ASSIGNMENT_SHAPE}."
    if "topics" not in data:
        if not faults.found:
            faults.add("topics", "is missing.", fix)
        return
    topics = _object(data["topics"], "topics", faults, fix)
    if not topics and isinstance(data["topics"], dict):
        faults.add("topics", "has no topic, so there is nothing to place.", fix)
    wanted = _replication(data.get("replication", {}), topics, faults)
    sizes = _sizes(data.get("sizes", {}), topics, faults)
    for topic, listed in topics.items():
        where = f"topics.{topic}"
        entries = _object(listed, where, faults, fix)
        if not entries and isinstance(listed, dict):
            faults.add(where, "has no partition, so there is nothing to place.", "leave the topic out.")
        placed = dict(_entries(entries, where, faults))
        longest = max((len(replicas) for replicas in placed.values()), default=0)
        for number, replicas in placed.items():
            factor = wanted.get(topic) or len(replicas) or longest
            if not factor:
                faults.add(
                    f"{where}.{number}",
                    "the list is empty, and nothing says how many replicas the topic has.",
                    f'add "replication": {{"{topic}": 3}} beside "topics".',
                )
            elif factor > MAX_REPLICATION:
                faults.add(
                    f"{where}.{number}",
                    f"has {factor} replicas; more than {MAX_REPLICATION} are not planned, because that takes too long.",
                    "leave the topic out.",
                )
            else:
                yield Partition(topic, number, replicas, factor, sizes.get((topic, number), 0))


def _entries(entries: Mapping[str, Any], where: str, faults: _Faults) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the partitions of a topic whose lists are sound."""
    for key, replicas in entries.items():
        place = f"{where}.{key}"
        number = _number(key)
        if number is None:
            faults.add(place, f"{_shown(key)} is no partition; they are numbered from 0.", f"write {ASSIGNMENT_SHAPE}.")
        elif not isinstance(replicas, list) or isinstance(replicas, _Twice):
            faults.add(
                place, f"found {_kind(replicas)} where a list of broker ids is needed.", f"write {ASSIGNMENT_SHAPE}."
            )
        elif wrong := [item for item in replicas if not _is_number(item, MAX_ID)]:
            faults.add(place, f"found {_kind(wrong[0])}; a replica is a broker id.", "write whole numbers from 0.")
        elif len(set(replicas)) < len(replicas):
            twice = sorted(identity for identity, count in Counter(replicas).items() if count > 1)
            faults.add(
                place, f"{replicas} names broker {twice[0]} twice; it can hold one replica.", "name each broker once."
            )
        else:
            yield number, tuple(replicas)


def _replication(data: object, topics: Mapping[str, Any], faults: _Faults) -> Mapping[str, int]:
    """Return the declared replicas of each topic that has them in the file."""
    fix = 'write "replication": {"orders": 3}, or leave it out.'
    factors = {}
    for topic, factor in _object(data, "replication", faults, fix).items():
        where = f"replication.{topic}"
        if topic not in topics:
            faults.add(where, "there is no such topic in this file.", fix)
        elif not _is_number(factor, MAX_REPLICATION) or factor == 0:
            faults.add(where, f"found {_kind(factor)}; it is a whole number from 1 to {MAX_REPLICATION}.", fix)
        else:
            factors[topic] = factor
    return factors


def _sizes(data: object, topics: Mapping[str, Any], faults: _Faults) -> Mapping[tuple[str, int], int]:
    """Return the bytes of a replica, where the file says so."""
    fix = 'write "sizes": {"orders": {"0": 1048576}} in bytes, or leave it out.'
    by_partition = {}
    for topic, listed in _object(data, "sizes", faults, fix).items():
        for key, size in _object(listed, f"sizes.{topic}", faults, fix).items():
            where, number = f"sizes.{topic}.{key}", _number(key)
            known = topics.get(topic)
            if number is None or not isinstance(known, dict) or key not in known:
                faults.add(where, "there is no such partition in this file.", fix)
            elif not _is_number(size, MAX_SIZE):
                faults.add(where, f"found {_kind(size)}; a size is a whole number of bytes up to {MAX_SIZE:,}.", fix)
            else:
                by_partition[topic, number] = size
    return by_partition


def _check_brokers(partitions: Sequence[Partition], known: set[int], faults: _Faults) -> None:
    """Find replicas on brokers that the topology does not have: whether they share a domain cannot be said."""
    for partition in partitions:
        where = f"topics.{partition.topic}.{partition.number}"
        if unknown := sorted(set(partition.replicas) - known):
            faults.add(
                where,
                f"broker {', '.join(map(str, unknown))} is not in the topology: with which others it fails is unknown.",
                "add it to the topology; if it is gone for good, take it out of the list and say in "
                '"replication" how many replicas the topic has.',
            )
        if partition.replication > len(known):
            faults.add(
                where,
                f"needs {partition.replication} replicas, and the topology has {len(known)} brokers.",
                "add brokers, or lower the replication factor.",
            )


def _number(key: str) -> int | None:
    """Return the number of a partition; None for text that Kafka would not write so."""
    return int(key) if key.isascii() and key.isdigit() and len(key) <= 10 and str(int(key)) == key else None  # noqa: PLR2004


def _is_number(value: object, most: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _kind(value: object) -> str:
    """Return a value as a person names it, short."""
    match value:
        case None:
            return "nothing"
        case _Twice() | dict():
            return "an object"
        case list():
            return "a list"
        case str():
            return f"the text {_shown(value)}"
        case _:
            return _shown(value)


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004  one line


def result_as_dict(topology: Topology, after: Sequence[Partition], report: Report) -> dict[str, Any]:
    """Return the result of a placement as JSON values."""
    topics: dict[str, dict[str, list[int]]] = {}
    for partition in sorted(after, key=lambda partition: partition.key):
        topics.setdefault(partition.topic, {})[str(partition.number)] = list(partition.replicas)
    reasons = {
        factor: explain_infeasible(topology, factor)
        for factor in sorted({partition.replication for partition in report.infeasible})
    }
    return {
        "assignment": {"topics": topics},
        "violations": [asdict(violation) for violation in report.violations],
        "infeasible": [
            {
                "topic": partition.topic,
                "partition": partition.number,
                "replication": partition.replication,
                "reason": reasons[partition.replication],
            }
            for partition in report.infeasible
        ],
        "moves": report.moves,
        "leader_skew": report.leader_skew,
        "replica_skew": report.replica_skew,
    }
