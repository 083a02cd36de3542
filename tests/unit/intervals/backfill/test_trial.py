"""What a trial says of the rows and columns that differ."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.parity import Counts, IntervalParity, ParityOutcome, with_samples
from sluice.intervals.backfill.trial import ColumnChanges, RowChange, RowDifference

MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def difference(
    old_rows: int,
    new_rows: int,
    old: Mapping[str, str | None] | None = None,
    new: Mapping[str, str | None] | None = None,
) -> RowDifference:
    return RowDifference(MIDNIGHT, {"origin": "EWR"}, old_rows, new_rows, old or {}, new or {})


@pytest.mark.parametrize(
    ("found", "change", "text"),
    [
        (difference(1, 1, {"delay": "5"}, {"delay": None}), RowChange.CHANGED, "origin=EWR: delay 5, now null"),
        (difference(1, 2), RowChange.CHANGED, "origin=EWR: 1 rows, now 2"),
        (difference(1, 1), RowChange.CHANGED, "origin=EWR: other values"),
        (difference(0, 1, new={"delay": "5"}), RowChange.ONLY_NEW, "origin=EWR: only new"),
        (difference(2, 0, old={"delay": "5"}), RowChange.ONLY_OLD, "origin=EWR: only old, 2 rows"),
    ],
)
def test_a_difference_is_a_line_for_people_and_one_for_programs(
    found: RowDifference, change: RowChange, text: str
) -> None:
    assert (found.change, found.text) == (change, text)
    assert json.loads(found.to_json()) == {
        "interval": "2013-01-01T00:00:00+00:00",
        "change": change.value,
        "key": {"origin": "EWR"},
        "old_rows": found.old_rows,
        "new_rows": found.new_rows,
        "old": found.old,
        "new": found.new,
    }


def test_a_table_takes_new_columns_and_refuses_that_one_is_dropped_or_changed() -> None:
    added = ColumnChanges(added=("diverted",))
    assert (bool(added), added.refused, added.text) == (True, False, "added: diverted")
    for changes in (ColumnChanges(dropped=("delay",)), ColumnChanges(retyped=("delay: long, now double",))):
        assert changes.refused
        assert "the table refuses" in changes.text
    assert (bool(ColumnChanges()), ColumnChanges().text) == (False, "")


def test_an_interval_gets_the_differences_that_lie_in_it_as_samples() -> None:
    differences = [RowDifference(MIDNIGHT + n * HOUR, {"origin": f"O{n}"}, 0, 1) for n in (0, 1, 1)]
    second = IntervalParity(Interval(MIDNIGHT + HOUR, MIDNIGHT + 2 * HOUR), ParityOutcome.CHANGED, Counts(missing=2))
    assert with_samples(second, differences).counts == Counts(
        missing=2, samples=("origin=O1: only new", "origin=O1: only new")
    )
    assert with_samples(second, differences[:1]) is second
