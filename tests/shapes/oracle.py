"""What each shape must produce, by pandas straight from the package. It shares no code with Sluice or Spark."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from tests.oracle import flights
from tests.shapes.specs import IN_SQL

_LATE_AFTER_MINUTES = 180
_ZONE = "America/New_York"


def expected(shape: str, first: str, last: str, *, with_late: bool = False) -> pd.DataFrame:
    """Return the rows of a shape for the flights of some local days, from `first` to `last`."""
    return rows_of(shape, flights(first, last), with_late=with_late)


def rows_of(shape: str, sent: pd.DataFrame, *, with_late: bool = False) -> pd.DataFrame:
    """Return the rows of a shape for flights as `tests.oracle.flights` returns them; one that was sent twice is twice.

    Args:
        shape: its name.
        sent: the flights.
        with_late: whether late records are taken.
    """
    table = sent if with_late else sent[~(sent["dep_delay"] > _LATE_AFTER_MINUTES)]
    return _RULES[shape.removesuffix(IN_SQL)](table.assign(flight_id=table.index))


def differences(shape: str, found: pd.DataFrame, wanted: pd.DataFrame) -> list[str]:
    """Return what differs, row by row, in words; empty means identical."""
    columns = sorted(wanted.columns)
    sides = [_as_text(frame[columns]) for frame in (found, wanted)]
    counted = [side.value_counts().rename(name) for side, name in zip(sides, ("found", "wanted"), strict=True)]
    both = pd.concat(counted, axis=1).fillna(0)
    wrong = both[both["found"] != both["wanted"]]
    return [f"{shape}: {index}: found {row.found:.0f}, wanted {row.wanted:.0f}" for index, row in wrong.iterrows()]


def _as_text(frame: pd.DataFrame) -> pd.DataFrame:
    texts = {}
    for name in frame.columns:
        column = frame[name]
        if isinstance(column.dtype, pd.DatetimeTZDtype):
            texts[name] = column.dt.tz_convert("UTC").dt.strftime("%FT%TZ")
        elif pd.api.types.is_numeric_dtype(column):
            texts[name] = column.astype("Float64").map(lambda value: f"{value:.0f}", na_action="ignore").fillna("null")
        else:
            texts[name] = column.fillna("null")
    return pd.DataFrame(texts)


def _windowed(table: pd.DataFrame, by: str, length: str, slide: str, *, edge: str = "start") -> pd.DataFrame:
    step, span = pd.Timedelta(slide), pd.Timedelta(length)
    newest = table["scheduled"].dt.floor(slide)
    copies = [table.assign(start=newest - number * step) for number in range(span // step)]
    rows = pd.concat(copies)
    rows = rows[rows["start"] + span > rows["scheduled"]]
    rows["at"] = rows["start"] + (span if edge == "end" else pd.Timedelta(0))
    return rows.groupby(["at", by], as_index=False).agg(flights=("flight_id", "size"))


def _local_days(table: pd.DataFrame) -> pd.DataFrame:
    local = table["scheduled"].dt.tz_convert(_ZONE).dt.normalize()
    rows = table.assign(at=local.dt.tz_convert("UTC"))
    return rows.groupby(["at", "carrier"], as_index=False).agg(flights=("flight_id", "size"))


def _sessions(table: pd.DataFrame) -> pd.DataFrame:
    gap, keys = pd.Timedelta("20min"), ["origin", "carrier"]
    rows = table.sort_values([*keys, "scheduled"])
    begins = rows.groupby(keys)["scheduled"].diff() > gap  # Spark joins sessions that touch
    rows = rows.assign(number=begins.cumsum())
    found = rows.groupby([*keys, "number"], as_index=False).agg(
        since=("scheduled", "min"), newest=("scheduled", "max"), flights=("flight_id", "size")
    )
    return found.assign(at=found["newest"] + gap)[["at", "since", *keys, "flights"]]


def _busiest(table: pd.DataFrame) -> pd.DataFrame:
    rows = table.groupby(["hour_utc", "carrier"], as_index=False).agg(flights=("flight_id", "size"))
    rows = rows.sort_values(["hour_utc", "flights", "carrier"], ascending=[True, False, True])
    rows["rank"] = rows.groupby("hour_utc").cumcount() + 1
    return rows[rows["rank"] <= 3].rename(columns={"hour_utc": "at"})[["at", "rank", "carrier", "flights"]]


def _pauses(table: pd.DataFrame) -> pd.DataFrame:
    rows = table.sort_values(["origin", "scheduled", "flight_id"])
    times = rows.groupby("origin")["scheduled"]
    minutes = pd.DataFrame({"before": times.diff(), "after": -times.diff(-1)})
    minutes = minutes.apply(lambda column: column.dt.total_seconds() / 60)
    return rows.assign(at=rows["scheduled"], **minutes.where(minutes <= 360))[["at", "flight_id", "before", "after"]]


def _carriers(table: pd.DataFrame) -> pd.DataFrame:
    rows = table.groupby(["hour_utc", "origin"], as_index=False).agg(carriers=("carrier", "nunique"))
    return rows.rename(columns={"hour_utc": "at"})


def _once(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(at=table["scheduled"])[["at", "flight_id", "carrier"]].drop_duplicates("flight_id")


def _delayed(table: pd.DataFrame) -> pd.DataFrame:
    rows = table[table["dep_time"].notna() & (table["dep_delay"] >= 15)]
    return rows.assign(at=rows["scheduled"], dep_delay_min=rows["dep_delay"])[
        ["at", "flight_id", "carrier", "dep_delay_min"]
    ]


def _standings(table: pd.DataFrame) -> pd.DataFrame:
    rows = table[table["dep_delay"].notna()]
    hours = rows.groupby("hour_utc")["dep_delay"]
    others = hours.transform("size") - 1
    standing = ((hours.rank(method="min") - 1) / others.where(others > 0, 1) * 1_000_000).round()
    return rows.assign(at=rows["scheduled"], standing=standing)[["at", "flight_id", "standing"]]


def _totals(table: pd.DataFrame) -> pd.DataFrame:
    rows = table.groupby("hour_utc").agg(
        at=("scheduled", "min"),
        flights=("flight_id", "size"),
        carriers=("carrier", "nunique"),
        middle=("dep_delay", "median"),
    )
    return rows.assign(middle=10 * rows["middle"])


_RULES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "hours": lambda table: _windowed(table, "origin", "1h", "1h"),
    "hopping": lambda table: _windowed(table, "origin", "1h", "20min"),
    "rolling": lambda table: _windowed(table, "origin", "3h", "1h", edge="end"),
    "half_days": lambda table: _windowed(table, "origin", "12h", "12h"),
    "local_days": _local_days,
    "sessions": _sessions,
    "busiest": _busiest,
    "pauses": _pauses,
    "carriers": _carriers,
    "once": _once,
    "delayed": _delayed,
    "standings": _standings,
    "totals": _totals,
}
