"""Orders to relieve crowded towers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.spark.keyed import in_order

CROWDED, CALM = 900, 700
"""In thousandths of a tower's capacity: it is relieved above the one and restored below the other, not at one line."""
SAMPLES = 9
"""How many of them make the load: three minutes."""


def reallocations(tower_samples: DataFrame, *, towers: DataFrame, regions: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Return the orders of each region in the order of its samples, and what is known of its towers."""
    return in_order(
        tower_samples.join(F.broadcast(towers), "tower"),
        of_one_region,
        by="region",
        order=("sampled_at", "tower", "seen_at"),
        state=regions,
        rows="ordered_at timestamp, tower string, command string, neighbour string, load_permille bigint",
    )


def of_one_region(samples: Iterator[Mapping[str, Any]], region: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an order when a tower becomes crowded and a neighbour has room, and when it is calm again."""
    recent: dict[str, list[int]] = dict(region.get("recent") or {})
    moved: dict[str, str] = dict(region.get("moved") or {})
    for sample in samples:
        tower, at = sample["tower"], sample["sampled_at"]
        if (at, tower) == (region.get("last_at"), region.get("last_tower")):
            continue  # it was sent twice
        region["last_at"], region["last_tower"] = at, tower
        share = 1000 * sample["mbit"] // sample["capacity_mbit"]
        recent[tower] = [*recent.get(tower, []), share][-SAMPLES:]
        if len(recent[tower]) < SAMPLES:
            continue
        load = mean(recent[tower])
        if tower in moved and load < CALM:
            yield order(at, tower, "restore", moved.pop(tower), load)
        elif tower not in moved and load > CROWDED:
            calm = sorted((mean(recent[n]), n) for n in sample["neighbours"].split(" ") if n in recent)
            if calm and calm[0][0] < CALM:
                moved[tower] = calm[0][1]
                yield order(at, tower, "relieve", moved[tower], load)
    region["recent"], region["moved"] = recent, moved


def mean(shares: list[int]) -> int:
    """Return the mean of shares in thousandths, rounded down."""
    return sum(shares) // len(shares)


def order(at: Any, tower: str, command: str, neighbour: str, load: int) -> dict[str, Any]:  # noqa: ANN401
    """Return the row of an order."""
    return {"ordered_at": at, "tower": tower, "command": command, "neighbour": neighbour, "load_permille": load}
