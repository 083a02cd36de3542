"""What each shape over two topics must produce, by pandas straight from the package. It shares no code with Sluice."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from tests.oracle import flights
from tests.shapes.joined_specs import PREFIX
from tests.shapes.specs import IN_SQL
from tests.shapes.weather import weather

_LATE_AFTER_MINUTES = 180
_HOUR = pd.Timedelta("1h")


def expected(shape: str, first: str, last: str, *, with_late: bool = False) -> pd.DataFrame:
    """Return the rows of a shape for some local days, from `first` to `last`."""
    return joined_rows(shape, flights(first, last), weather(first, last), with_late=with_late)


def joined_rows(shape: str, flown: pd.DataFrame, measured: pd.DataFrame, *, with_late: bool = False) -> pd.DataFrame:
    """Return the rows of a shape.

    Args:
        shape: its name.
        flown: the flights, as `tests.oracle.flights` returns them.
        measured: as `tests.shapes.weather.weather` returns them.
        with_late: whether late records are taken.
    """
    if not with_late:
        flown, measured = flown[~(flown["dep_delay"] > _LATE_AFTER_MINUTES)], measured[~measured["late"]]
    flown = flown.assign(flight_id=flown.index)[["flight_id", "origin", "scheduled"]]
    return _RULES[shape.removeprefix(PREFIX).removesuffix(IN_SQL)](flown, measured)


def _pairs(flown: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Return each flight with the measurement of its airport that is 30 to 90 minutes older."""
    both = flown.merge(measured, on="origin")
    since = both["scheduled"] - both["measured"]
    return both[(since >= _HOUR / 2) & (since < 3 * _HOUR / 2)]


def _inner(flown: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    return _pairs(flown, measured).rename(columns={"scheduled": "at"})[["at", "flight_id", "wind"]]


def _left(flown: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    flown = flown.reset_index(drop=True).reset_index(names="number")  # one that was sent twice is two
    winds = _pairs(flown, measured)[["number", "wind"]]
    both = flown.merge(winds, on="number", how="left")
    return both.rename(columns={"scheduled": "at"})[["at", "flight_id", "wind"]]


def _anti(flown: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    known = set(_pairs(flown, measured)["flight_id"])
    return flown[~flown["flight_id"].isin(known)].rename(columns={"scheduled": "at"})[["at", "flight_id"]]


def _semi(flown: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    both = flown.merge(measured[measured["wind"] >= 15], on="origin")
    until = both["measured"] - both["scheduled"]
    windy = set(both[(until > pd.Timedelta(0)) & (until <= 2 * _HOUR)]["flight_id"])
    return flown[flown["flight_id"].isin(windy)].rename(columns={"scheduled": "at"})[["at", "flight_id"]]


def _following(flown: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    counted = _pairs(flown, measured).groupby(["measured", "origin"]).size().rename("flights").reset_index()
    both = measured[["measured", "origin"]].drop_duplicates().merge(counted, on=["measured", "origin"], how="left")
    return both.fillna({"flights": 0}).rename(columns={"measured": "at"})


def _union(flown: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    each = [
        pd.DataFrame({"at": flown["scheduled"].dt.floor("h"), "kind": "flight"}),
        pd.DataFrame({"at": measured["measured"].dt.floor("h"), "kind": "measurement"}),
    ]
    return pd.concat(each).groupby(["at", "kind"]).size().rename("n").reset_index()


_RULES: dict[str, Callable[[pd.DataFrame, pd.DataFrame], pd.DataFrame]] = {
    "inner": _inner,
    "left": _left,
    "anti": _anti,
    "semi": _semi,
    "following": _following,
    "union": _union,
}
