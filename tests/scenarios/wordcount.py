"""Words by the hour, counted one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pandas as pd

from tests.scenarios.records import on_time

TABLES = ("wordcount",)


def tables(sent: dict[str, Sequence[bytes]], _project: Path) -> dict[str, pd.DataFrame]:
    """Return the rows of the table, given the values of each topic."""
    sentences = on_time(
        sent["sentences"],
        {"number": (int,), "sentence": (str,)},
        event="said_at",
        arrival="heard_at",
        lateness=timedelta(minutes=10),
        skew=timedelta(minutes=1),
    )
    counts: Counter[tuple[object, str]] = Counter()
    for each in sentences:
        hour = each["said_at"].replace(minute=0, second=0, microsecond=0)
        counts.update((hour, word) for word in each["sentence"].lower().split(" "))
    return {
        "wordcount": pd.DataFrame(
            [{"hour": hour, "word": word, "times": times} for (hour, word), times in counts.items()]
        )
    }


def comparable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table as the oracle has them."""
    return rows
