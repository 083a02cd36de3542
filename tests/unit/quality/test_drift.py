"""Producer drift: what departs from what was declared, judged from what was counted."""

from __future__ import annotations

import pytest

from sluice.quality.drift import (
    KINDS_OF_TYPE,
    Drift,
    FieldDrift,
    JsonKind,
    NeighbourCounts,
    ObservedField,
    field_drifts,
)

DECLARED = {
    "flight": KINDS_OF_TYPE["long"],
    "distance": KINDS_OF_TYPE["double"],
    "at": KINDS_OF_TYPE["timestamp"],
    "any": None,
}
P = "id/0"


def seen(
    field: str, kind: JsonKind, records: int = 10, first: int = 0, last: int = 99, *, partition: str = P
) -> ObservedField:
    return ObservedField(field, kind, partition, records, first, last)


def test_what_is_declared_is_no_drift() -> None:
    found = [
        seen("flight", JsonKind.INTEGER),
        seen("flight", JsonKind.NULL),
        seen("distance", JsonKind.INTEGER),
        seen("distance", JsonKind.NUMBER),
        seen("at", JsonKind.STRING),
        seen("any", JsonKind.LIST),
    ]
    assert field_drifts(DECLARED, found, {}) == []


def test_another_type_and_an_undeclared_field_are_told_with_their_first_and_last_offset() -> None:
    found = field_drifts(
        DECLARED,
        [
            seen("flight", JsonKind.STRING, 3, 40, 77),
            seen("Flight", JsonKind.INTEGER, 1, 5, 5),
            seen("xyz", JsonKind.NULL, 2, 6, 9, partition="id/1"),
            seen("distance", JsonKind.BOOLEAN, 1, 8, 8),
        ],
        {},
    )
    assert found == [
        FieldDrift("Flight", "integer", P, 1, 5, 5, Drift.UNDECLARED, "did you mean 'flight'?"),
        FieldDrift("xyz", "null", "id/1", 2, 6, 9, Drift.UNDECLARED),
        FieldDrift("distance", "boolean", P, 1, 8, 8, Drift.TYPE),
        FieldDrift("flight", "string", P, 3, 40, 77, Drift.TYPE),
    ]


@pytest.mark.parametrize(
    ("before", "after", "gone"), [(100, 100, True), (100, 99, False), (200, 500, True), (201, 500, False)]
)
def test_a_field_is_gone_when_most_had_it_and_many_since_then_have_not(before: int, after: int, gone: bool) -> None:
    has = [seen("flight", JsonKind.INTEGER, 60, 0, 90), seen("flight", JsonKind.NULL, 40, 3, 99)]
    found = field_drifts(DECLARED, has, {("flight", P): NeighbourCounts(before, after)})
    assert found == ([FieldDrift("flight", "integer or null", P, 100, 0, 99, Drift.GONE)] if gone else [])
