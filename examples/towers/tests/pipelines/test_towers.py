"""Two towers on a few samples, with the functions of the stream."""

import json
from datetime import UTC, datetime, timedelta

from sluice.interactive.trial import trial

EIGHT = datetime(2026, 1, 5, 20, tzinfo=UTC)


def samples(tower: str, *loads: int) -> list[str]:
    found = []
    for n, mbit in enumerate(loads):
        at = (EIGHT + timedelta(seconds=20 * n)).isoformat()
        found.append(json.dumps({"tower": tower, "users": 5, "mbit": mbit, "sampled_at": at, "seen_at": at}))
    return found


def test_the_load_is_the_mean_of_five_minutes() -> None:
    found = trial("tower_load", "\n".join(samples("r0t0", 400, 600, 500)).encode())
    assert {row["load_permille"] for row in found.rows} == {500}
    assert len(found.rows) == 5, "each sample lies in five windows"


def test_a_crowded_tower_is_relieved_once_and_restored_when_it_is_calm() -> None:
    crowded = [950] * 12 + [800] * 9 + [500] * 9
    records = sorted([*samples("r0t0", *crowded), *samples("r0t1", *[300] * 30)], key=lambda each: each[-40:])
    rows = trial("reallocations", "\n".join(records).encode()).rows
    orders = [(row["command"], row["tower"], row["neighbour"]) for row in sorted(rows, key=lambda r: r["ordered_at"])]
    assert orders == [("relieve", "r0t0", "r0t1"), ("restore", "r0t0", "r0t1")]
