"""Readings with a score by a model that is a file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pandas as pd
import skops.io
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

FEATURES = ("temperature", "vibration", "pressure")
DIGITS = 6
"""Sums of doubles depend on how many rows are scored at a time, in digits far behind these."""


def scored_readings(readings: DataFrame, *, model: DataFrame) -> DataFrame:
    """Return each reading once, with the probability that its machine breaks within the hour."""
    once = readings.dropDuplicates(["reading", "measured_at"])
    columns = ("reading", "machine", "measured_at", *FEATURES)
    with_model = once.select(*columns).crossJoin(F.broadcast(model.select("content")))
    return with_model.mapInPandas(scored, "reading string, machine string, measured_at timestamp, score double")


def scored(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Yield the rows of each batch with their scores."""
    for batch in batches:
        if not batch.empty:
            chances = loaded(bytes(batch["content"].iloc[0])).predict_proba(batch[list(FEATURES)].to_numpy())[:, 1]
            yield batch[["reading", "machine", "measured_at"]].assign(score=chances.round(DIGITS))


@lru_cache(maxsize=2)
def loaded(content: bytes) -> Any:  # noqa: ANN401 - any classifier
    """Return a model; a file of skops that holds anything but known estimators is refused."""
    return skops.io.loads(content)
