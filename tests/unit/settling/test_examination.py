"""What an examination says, and that Arrow says the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake
from hypothesis import example, given
from hypothesis import strategies as st

from sluice.intervals.arrivals import ArrivalClocks, ArrivalSpan
from sluice.intervals.reach import Hole, RawPosition, Reach
from sluice.settings import settings
from sluice.settling.examination import Examination, RecordTimes, examined
from sluice.settling.rules import SettlingRules
from sluice.spark.settling.arrivals import TimeColumns, arrivals_around, examined_columns
from sluice.specs.load import load_catalog
from sluice.specs.model.sources import TimeRules

START = datetime(2013, 1, 7, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = 60 * MINUTE
RULES = SettlingRules(HOUR, 3 * HOUR, HOUR / 4, max_advance=6 * HOUR, lookback=HOUR / 2, lookahead=HOUR / 4)
TIMES = TimeRules(allowed_lateness=3 * HOUR, future_skew=HOUR, clock_skew=5 * MINUTE)
END = {"t/0": 100, "t/1": 100}


def record(
    offset: int, event: int | None, arrival: int | None, partition: int = 0, *, earlier: bool = False
) -> RecordTimes:
    """Return a record by minutes after START."""
    happened, known = (None if minutes is None else START + minutes * MINUTE for minutes in (event, arrival))
    return RecordTimes(f"t/{partition}", offset, happened, known, earlier)


def test_records_on_time_of_a_settled_interval_are_overtaken() -> None:
    found = examined([record(4, 10, 100), record(7, 50, 230), record(9, 200, 205)], END, RULES, START + 2 * HOUR)
    assert found.overtaken == {START - HOUR: {"t/0": 5}, START: {"t/0": 8}, START + HOUR: {"t/0": 8}}
    assert found.disorder == 25 * MINUTE
    assert found.first_event == START + 10 * MINUTE


def test_late_records_and_those_that_do_not_decode_overtake_nothing() -> None:
    found = examined([record(1, 0, 181), record(2, None, None), record(3, None, 60)], END, RULES, START + 9 * HOUR)
    assert (found.overtaken, found.first_event) == ({}, None)
    assert found.spans == {"t/0": (ArrivalSpan(START + HOUR, START + 181 * MINUTE),)}


records = st.lists(
    st.tuples(
        st.integers(0, 1),  # partition
        st.integers(0, 24 * 60),  # event
        st.integers(-90, 300),  # delay
        st.integers(-10, 10),  # broker's time, after the arrival
        st.sampled_from(["good", "good", "good", "undecodable", "refused"]),
    ),
    max_size=25,
)


@given(records, st.integers(0, 24), st.integers(0, 25))
@example([(0, minute, 0, 0, "good") for minute in (120, 121, 240, 241)], 0, 2)
def test_columns_say_what_records_say(
    drawn: list[tuple[int, int, int, int, str]], settled: int, created_again: int
) -> None:
    until = START + settled * HOUR
    plain, columns, refused = [], [], set()
    for number, (partition, event, delay, behind, kind) in enumerate(drawn):
        earlier = number < created_again
        topic, offset = ("topic0", number) if earlier else ("topic1", number - created_again)
        arrived, broker = event + delay, event + delay + behind
        decodes = kind != "undecodable"
        credible = decodes and -behind * MINUTE <= TIMES.clock_skew
        early = -delay * MINUTE > TIMES.future_skew
        taken = credible and not early and kind == "good"
        if kind == "refused":
            refused.add((topic, offset))
        first = event if credible and not early else None
        happened, known = event if taken else None, arrived if credible else None
        plain.append((record(offset, happened, known, partition, earlier=earlier), first))
        times = [START + m * MINUTE if decodes else None for m in (event, arrived)]
        columns.append([topic, partition, offset, *times, START + broker * MINUTE])
    schema = pa.schema(
        [
            *(("topic_id", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())),
            *((name, pa.timestamp("us", tz="UTC")) for name in ("event_time", "arrival_time", "timestamp")),
        ]
    )
    columns = list(zip(*columns, strict=True)) or [[]] * 6
    table = pa.table(
        [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)], schema=schema
    )

    def validated(suspects: pa.Table) -> pa.Table:
        each = zip(*(suspects.column(name).to_pylist() for name in ("topic_id", "offset")), strict=True)
        return suspects.filter(pa.array([one not in refused for one in each]))

    found = examined_columns(TimeColumns(table, "t", Reach(END, ("topic0", "topic1"))), TIMES, RULES, until, validated)
    expected = examined((each for each, _ in plain), END, RULES, until)
    assert _without_beginning(found) == _without_beginning(expected)
    on_time = [each for each, (_, _, delay, _, _) in zip(plain, drawn, strict=True) if delay <= 180]
    events = [START + first * MINUTE for _, first in on_time if first is not None]
    assert found.first_event == min(events, default=None)  # what is refused may only begin a table earlier


def _without_beginning(found: Examination) -> tuple[object, ...]:
    return dict(found.spans), {start: dict(ends) for start, ends in found.overtaken.items()}, found.disorder, found.end


def test_a_raw_table_that_holds_nothing_yet_is_read_without_a_fault(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            *(("topic_id", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())),
            *((name, pa.timestamp("us", tz="UTC")) for name in ("event_time", "arrival_time", "timestamp")),
        ]
    )
    write_deltalake(str(tmp_path / "raw"), schema.empty_table())
    nothing = RawPosition(0, Reach({}, ("topic0",)))
    topic = load_catalog(settings().home / "include").topics["flights"]
    assert TimeColumns.read(tmp_path / "raw", nothing, Reach({}), topic).rows.num_rows == 0
    assert TimeColumns.read(tmp_path / "raw", nothing, Reach({"flights/0": 3}, ("topic0",)), topic).rows.num_rows == 0


def test_a_record_of_next_year_makes_no_disorder_of_those_that_follow() -> None:
    year = 365 * 24 * 60
    records = [record(0, None, 60), record(1, None, year), record(2, None, 61), record(3, None, 58)]
    found = examined(records, END, RULES, None)
    assert found.disorder == 3 * MINUTE


def test_a_topic_that_was_created_again_begins_again_and_makes_no_disorder() -> None:
    old = [record(5_000 + n, None, 120 + n, earlier=True) for n in range(3)]
    later, copies = [record(n, None, 240 + n) for n in range(3)], [record(n, None, n) for n in range(3)]
    assert examined([*old, *later], END, RULES, None).disorder == timedelta()
    assert examined([*old, *copies], END, RULES, None).disorder == timedelta()
    assert examined([*old, *reversed(later)], END, RULES, None).disorder == 2 * MINUTE


def test_disorder_is_measured_against_what_was_read_before_too() -> None:
    found = examined([record(5, None, 90), record(6, None, 95), record(7, None, 20, partition=1)], END, RULES, None)
    before = ArrivalClocks({"t/0": START + 100 * MINUTE})
    assert found.disorder == timedelta()

    def disorder(clocks: ArrivalClocks, *drained: str) -> timedelta:
        return found.disorder_after(clocks, set(drained), RULES.max_advance)

    assert disorder(before) == 10 * MINUTE, "of t/1 nothing was read before"
    assert disorder(before, "t/0") == 10 * MINUTE
    assert disorder(before, "t/0", "t/1") == 80 * MINUTE, "t/1 had no more to read, so its record was appended later"
    assert disorder(ArrivalClocks({"t/0": START + 80 * MINUTE})) == timedelta()
    assert disorder(ArrivalClocks({"t/0": START + 365 * 24 * HOUR}), "t/1") == timedelta(), "that is another advance"
    assert disorder(ArrivalClocks(), "t/0", "t/1") == timedelta()


def test_the_neighbours_of_a_hole_bound_the_arrival_times_of_what_is_lost(tmp_path: Path) -> None:
    rows = [("a", 0, 1, 10), ("a", 0, 2, 600), ("a", 0, 9, 70), ("a", 0, 10, 65), ("a", 1, 3, 500), ("b", 0, 0, 90)]
    topics, partitions, offsets, minutes = zip(*rows, strict=True)
    arrivals = pa.array([START + each * MINUTE for each in minutes], pa.timestamp("us", "UTC"))
    columns = {
        "topic_id": pa.array(topics),
        "partition": pa.array(partitions, pa.int32()),
        "offset": pa.array(offsets, pa.int64()),
        "arrival_time": arrivals,
        "timestamp": arrivals,
    }
    write_deltalake(str(tmp_path), pa.table(columns))
    one, both = (RawPosition(0, Reach({}, topics)) for topics in (("a",), ("a", "b")))

    def around(pinned: RawPosition, hole: Hole) -> tuple[int | None, ...]:
        found = arrivals_around(tmp_path, pinned, hole, TIMES)
        return tuple(None if moment is None else (moment - START) // MINUTE for moment in found)

    assert around(one, Hole("a", "t/0", 3, 9)) == (10, 65), "what lies further ahead than what follows is no bound"
    assert around(one, Hole("a", "t/1", 0, 3)) == (None, 500)
    assert around(one, Hole("a", "t/1", 4, 6)) == (500, None)
    assert around(both, Hole("a", "t/1", 4, 6)) == (None, 90)
    assert around(both, Hole("a", "t/0", 11, 12)) == (70, 90)
