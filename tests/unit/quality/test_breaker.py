from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.quality.breaker import Rejected, SchemaDriftError, Tally, refuse_drift
from sluice.quality.reasons import Reason
from sluice.specs.model.deadlines import CircuitBreaker

LIMIT = CircuitBreaker(share=0.5, records=10)


def rejected(reason: Reason, records: int, partition: int = 0, first: int = 0) -> Rejected:
    return Rejected(reason, f"flights/{partition}", records, first, first + records)


def stopped(tally: Tally, limit: CircuitBreaker = LIMIT) -> str:
    try:
        refuse_drift(tally, limit, batch="batch 7 of departures")
    except SchemaDriftError as drift:
        return str(drift)
    return ""


@pytest.mark.parametrize(
    ("records", "bad", "stops"),
    [(0, 0, False), (9, 9, False), (10, 5, False), (10, 6, True), (10, 10, True), (99, 49, False), (99, 50, True)],
)
def test_more_than_the_share_of_enough_records_stops(records: int, bad: int, *, stops: bool) -> None:
    parts = (rejected(Reason.WRONG_TYPE, bad),) if bad else ()
    assert bool(stopped(Tally(records, parts))) is stops


@given(
    st.lists(st.builds(rejected, st.sampled_from(Reason), st.integers(1, 50), st.integers(0, 3)), max_size=8),
    st.integers(0, 100),
    st.floats(0.01, 0.99),
    st.integers(1, 200),
)
def test_how_reasons_and_partitions_share_the_bad_ones_makes_no_difference(
    parts: list[Rejected], good: int, share: float, least: int
) -> None:
    tally = Tally(good + sum(part.records for part in parts), tuple(parts))
    together = Tally(tally.records, (rejected(Reason.EMPTY, tally.quarantined),) if parts else ())
    limit = CircuitBreaker(share=share, records=least)
    assert bool(stopped(tally, limit)) is bool(stopped(together, limit))
    assert sum(tally.by_reason.values()) == tally.quarantined <= tally.records


def test_the_message_says_how_many_why_where_and_what_to_do() -> None:
    parts = (
        rejected(Reason.MISSING_FIELD, 10, partition=1, first=40),
        rejected(Reason.WRONG_TYPE, 50, partition=2, first=900),
        rejected(Reason.WRONG_TYPE, 20, partition=0, first=77),
    )
    said = stopped(Tally(100, parts))
    assert said.startswith("batch 7 of departures: 80 of 100 records (80%) are quarantined")
    assert (
        "allows 50%: 70 wrong_type (a field does not parse as its declared type), such as flights/0 offset 77" in said
    )
    assert said.index("wrong_type") < said.index("10 missing_field") < said.index("flights/1 offset 40")
    assert "Fix: compare the topic spec with the producer" in said
