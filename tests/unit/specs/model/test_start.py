"""Where reading begins, as people write it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.specs.model.start import Edge, StartPosition, format_start, in_words, parse_moment, parse_start
from tests.unit.specs.bench import PIPELINE_FILE, TOPIC_FILE, Bench
from tests.unit.specs.case import assert_one_fault

POSITIONS = (
    st.sampled_from(Edge)
    | st.datetimes(timezones=st.just(UTC))
    | st.dictionaries(st.integers(0, 99), st.integers(0, 1 << 62), min_size=1)
)


@given(POSITIONS)
def test_what_is_written_is_read_back(position: StartPosition) -> None:
    assert parse_start(format_start(position)) == position


def test_a_time_needs_a_zone_unless_one_is_meant() -> None:
    with pytest.raises(ValueError, match="names no zone"):
        parse_start("2013-01-07T12:00:00")
    noon = datetime(2013, 1, 7, 12, tzinfo=UTC)
    assert parse_moment("2013-01-07T12:00:00", zone=UTC) == parse_start("2013-01-07T13:00:00+01:00") == noon
    assert in_words(noon) == "2013-01-07T12:00:00Z"


@pytest.mark.parametrize(
    "case",
    [
        ("start: newest", 16, "start", "write earliest, latest, a time such as"),
        ("start: 2013-01-07T12:00:00", 16, "start", "names no zone"),
        ("start: {}", 16, "start", "no partition is named"),
        ("start: {0: -1}", 16, "start", "no partition with its first offset"),
        ("start: {one: 5}", 16, "start", "no partition with its first offset"),
        ("start: {0: 5, 2: 5}", 16, "start.2", "the topic orders has the partitions 0 to 1."),
        ("mirror_group: a group", 16, "mirror_group", "a group"),
    ],
    ids=lambda case: str(case[0]),
)
def test_a_start_that_is_none_is_refused(bench: Bench, case: tuple[str, int, str, str]) -> None:
    key, line, where, said = case
    assert_one_fault(bench, PIPELINE_FILE, ("driver: shop\n", f"{key}\ndriver: shop\n", line, where, said))


def test_no_two_streams_share_a_group(bench: Bench) -> None:
    bench.edit(PIPELINE_FILE, "driver: shop\n", "mirror_group: sales\ndriver: shop\n")
    spec = (bench.home / PIPELINE_FILE).read_text()
    twin = spec.replace("name: sales", "name: twin").replace("table: sales", "table: twin")
    (bench.home / PIPELINE_FILE).with_name("twin.yaml").write_text(twin)
    (fault,) = bench.scan().faults
    assert "the group 'sales' of twin is also that of sales." in str(fault)


def test_a_raw_table_may_have_a_rate_limit_of_its_own(bench: Bench) -> None:
    bench.edit(TOPIC_FILE, "  driver: shop\n", "  driver: shop\n  max_records_per_batch: 500\n")
    assert bench.scan().catalog.topics["orders"].raw.max_records_per_batch == 500
