from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.coverage import NOWHERE, Fit, Position, fit, joined, transaction_version

NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
HELD = Position({"t/0": 10, "t/1": 20}, NOON)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        pytest.param(
            {"t/0": 10, "t/1": 20}, Position({"t/0": 15, "t/1": 20}, LATER), Fit.NEXT, id="starts-where-it-ends"
        ),
        pytest.param({"t/0": 5, "t/1": 20}, Position({"t/0": 10, "t/1": 20}, NOON), Fit.COVERED, id="replayed"),
        pytest.param({"t/0": 10, "t/1": 20}, Position({"t/0": 10, "t/1": 20}, LATER), Fit.NEXT, id="watermark-only"),
        pytest.param({"t/0": 5, "t/1": 20}, Position({"t/0": 15, "t/1": 25}, LATER), Fit.OVERLAP, id="re-cut"),
        pytest.param({}, Position({"t/0": 15, "t/1": 25}, LATER), Fit.OVERLAP, id="from-the-beginning"),
        pytest.param({"t/0": 11, "t/1": 20}, Position({"t/0": 15, "t/1": 20}, LATER), Fit.GAP, id="one-record-missing"),
        pytest.param({"t/0": 11, "t/1": 5}, Position({"t/0": 15, "t/1": 20}, LATER), Fit.GAP, id="gap-beside-overlap"),
        pytest.param(
            {"t/0": 10, "t/1": 20}, Position({"t/0": 12, "t/1": 20, "t/2": 3}, LATER), Fit.NEXT, id="new-partition"
        ),
        pytest.param(
            {"t/0": 10, "t/1": 20, "t/2": 1}, Position({"t/0": 12, "t/2": 3}, LATER), Fit.GAP, id="new-partition-late"
        ),
    ],
)
def test_a_batch_fits_a_table(start: dict[str, int], end: Position, expected: Fit) -> None:
    assert fit(HELD, start, end) is expected


def test_two_positions_with_one_sum_are_not_the_same() -> None:
    assert fit(HELD, {"t/0": 20, "t/1": 10}, Position({"t/0": 21, "t/1": 10}, LATER)) is Fit.GAP


def test_an_empty_table_takes_a_batch_wherever_it_starts() -> None:
    assert fit(NOWHERE, {"t/0": 500}, Position({"t/0": 600}, None)) is Fit.NEXT


batches = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12)


@given(batches, st.data())
def test_every_offset_is_written_once_however_often_batches_are_replayed_or_cut_again(
    sizes: list[tuple[int, int]], data: st.DataObject
) -> None:
    total = (sum(a for a, _ in sizes), sum(b for _, b in sizes))
    written: list[tuple[int, int]] = []
    held = NOWHERE
    for _lineage in range(data.draw(st.integers(1, 4))):
        at = (0, 0)
        stop = data.draw(st.integers(0, 30))
        while at != total and stop:
            stop -= 1
            step = tuple(data.draw(st.integers(0, t - a)) for a, t in zip(at, total, strict=True))
            end = (at[0] + step[0], at[1] + step[1])
            batch = Position({"t/0": end[0], "t/1": end[1]}, None)
            verdict = fit(held, {"t/0": at[0], "t/1": at[1]}, batch)
            assert verdict is not Fit.GAP
            if verdict is not Fit.COVERED:
                for partition in (0, 1):
                    first = max(at[partition], held.offsets.get(f"t/{partition}", 0))
                    written += [(partition, offset) for offset in range(first, end[partition])]
                held = joined(held, batch)
            at = end
    assert len(written) == len(set(written))
    assert set(written) == {(p, o) for p in (0, 1) for o in range(held.offsets.get(f"t/{p}", 0))}


@given(st.dictionaries(st.sampled_from(["t/0", "t/1"]), st.integers(0, 10**12)), st.integers(1, 100))
def test_the_transaction_version_grows_with_input_and_with_a_watermark_alone(end: dict[str, int], more: int) -> None:
    grown = {**end, "t/2": more}
    with_input, idle = transaction_version(end, has_input=True), transaction_version(end, has_input=False)
    assert with_input < idle < transaction_version(grown, has_input=True)
