"""What the trials of the peers come to: slopes between two sizes, and ratios of slopes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import pandas as pd

OURS = {"": "full", "_lean": "lean"}
"""The end of a figure's name → the program of ours."""
THEIRS = {"tuned_pyspark": "pyspark_tuned", "pyspark": "pyspark", "flink": "flink", "kstreams": "kstreams"}
"""What a figure calls a peer → its program."""
_MILLION = 1_000_000

Trials = Mapping[str, Mapping[int, Sequence[float]]]
"""CPU-seconds by program and number of records."""


def slopes(trials: Trials) -> dict[str, float]:
    """Return CPU-seconds per million records of each program, between the smallest and the largest size.

    What a start costs is in both, and cancels.
    """
    return {name: _slope({size: median(costs) for size, costs in sizes.items()}) for name, sizes in trials.items()}


def _slope(costs: Mapping[int, float]) -> float:
    small, large = min(costs), max(costs)
    return (costs[large] - costs[small]) / (large - small) * _MILLION


def figures(trials: Trials) -> dict[str, float]:
    """Return the ratios (CPU, ours ÷ theirs) of all programs that ran, and our records per second of one core."""
    slope = slopes(trials)
    ratios = {
        f"ratio_{peer}{end}": round(slope[ours] / slope[theirs], 3)
        for peer, theirs in THEIRS.items()
        for end, ours in OURS.items()
        if theirs in slope and ours in slope
    }
    return {**ratios, "events_per_s_core": round(_MILLION / slope["full"])}


def newest(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the rows of a topic of results: of a window's counts the newest."""
    table = pd.DataFrame(rows, columns=["campaign", "began_at", "views"])
    table["began_at"] = pd.to_datetime(table["began_at"], utc=True, format="ISO8601")
    return table.drop_duplicates(["campaign", "began_at"], keep="last").reset_index(drop=True)
