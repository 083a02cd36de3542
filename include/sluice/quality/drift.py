"""Producer drift: what records hold, field by field, that is not what was declared; and what they do not hold any more.

Validation judges each record alone. Drift is a property of all records of a topic: an undeclared field is no fault of a
record, and an optional one may vanish from all of them unnoticed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from sluice.specs.reading.diagnosis import nearest
from sluice.wording import ExplainedEnum


class JsonKind(StrEnum):
    """What a JSON value is."""

    NULL = "null"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMBER = "number"
    STRING = "string"
    LIST = "list"
    OBJECT = "object"


KINDS_OF_TYPE: Mapping[str, frozenset[JsonKind]] = {
    "long": frozenset({JsonKind.INTEGER}),
    "double": frozenset({JsonKind.INTEGER, JsonKind.NUMBER}),
    "string": frozenset({JsonKind.STRING}),
    "boolean": frozenset({JsonKind.BOOLEAN}),
    "timestamp": frozenset({JsonKind.STRING}),
    "object": frozenset({JsonKind.OBJECT}),
    "array": frozenset({JsonKind.LIST}),
}
"""What a field of a declared type is written as."""


class Drift(ExplainedEnum):
    """A way in which producers depart from what was declared."""

    UNDECLARED = (
        "undeclared",
        "no spec declares this field, and no pipeline reads it",
        "declare it in the topic's spec or its contract, or ask the producer what it is for",
    )
    TYPE = (
        "type",
        "it is not written as declared",
        "see `sluice quarantine list`; agree with the producer, and write a new version of the contract",
    )
    GONE = "gone", "most records had it up to here, and none since", "ask the producer; the spelling may have changed"


COMMON_SHARE, SINCE_THEN = 0.5, 100
"""A field is gone if this share of the records up to its last one had it, and so many since then do not."""


@dataclass(frozen=True)
class ObservedField:
    """A field of one kind in the records of one partition.

    Attributes:
        field: its name.
        kind: the kind of its values.
        partition: as `topic id/number`.
        records: the number of records that have it.
        first: offset of the first one.
        last: offset of the last one.
    """

    field: str
    kind: str
    partition: str
    records: int
    first: int
    last: int


@dataclass(frozen=True)
class NeighbourCounts:
    """How many records there are around the last one of a partition that has a field.

    Attributes:
        before: up to it.
        after: beyond it.
    """

    before: int
    after: int


@dataclass(frozen=True)
class FieldDrift(ObservedField):
    """One field that departs from its declaration, in one partition.

    Attributes:
        drift: how it departs.
        hint: a declared field that it may be; empty if none is similar.
    """

    drift: Drift
    hint: str = ""


def field_drifts(
    declared: Mapping[str, frozenset[JsonKind] | None],
    observed: Iterable[ObservedField],
    neighbours: Mapping[tuple[str, str], NeighbourCounts],
) -> list[FieldDrift]:
    """Return where records depart from what was declared, by field and partition.

    Args:
        declared: the kinds that each field may have, null aside; None where any will do.
        observed: what the records hold.
        neighbours: for the last record of a field in a partition, by field and partition.
    """
    fields: dict[str, list[ObservedField]] = defaultdict(list)
    for each in observed:
        fields[each.field].append(each)
    drifts = [departure for name, own in fields.items() for departure in _of_field(name, own, declared, neighbours)]
    return sorted(drifts, key=lambda d: (list(Drift).index(d.drift), d.field, d.partition, d.kind))


def _of_field(
    name: str,
    observed: list[ObservedField],
    declared: Mapping[str, frozenset[JsonKind] | None],
    neighbours: Mapping[tuple[str, str], NeighbourCounts],
) -> Iterator[FieldDrift]:
    if name not in declared:
        hint = nearest(name, declared)
        like = hint if hint.startswith("did you mean") else ""
        yield from (FieldDrift(**vars(each), drift=Drift.UNDECLARED, hint=like) for each in observed)
        return
    wanted = declared[name]
    for each in observed:
        if wanted is not None and each.kind != JsonKind.NULL and each.kind not in wanted:
            yield FieldDrift(**vars(each), drift=Drift.TYPE)
    for partition in dict.fromkeys(each.partition for each in observed):
        own = [each for each in observed if each.partition == partition]
        beside, records = neighbours.get((name, partition)), sum(each.records for each in own)
        if beside is not None and beside.after >= SINCE_THEN and records >= COMMON_SHARE * beside.before:
            kinds = " or ".join(sorted({each.kind for each in own}))
            first, last = min(each.first for each in own), max(each.last for each in own)
            yield FieldDrift(name, kinds, partition, records, first, last, Drift.GONE)
