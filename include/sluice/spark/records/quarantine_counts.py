"""How many records a batch of a stream quarantines, and why: counted while they are validated, told with progress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.quality.reasons import Reason
from sluice.spark.records.validation import REASON

_NAME = "quarantined"


def counting_quarantined(validated: DataFrame, topic: str) -> DataFrame:
    """Let every batch of a stream report how many records each reason refuses. It costs no pass of its own.

    Args:
        validated: what `validate` returns; `_reason` is read, and all columns are returned.
        topic: whose records they are: a query counts those of each of its topics.
    """
    counts = [F.count_if(F.col(REASON) == reason.value).alias(reason.value) for reason in Reason]
    return validated.observe(f"{_NAME}/{topic}", *counts)


def quarantined_in(progress: Mapping[str, Any]) -> dict[str, int] | None:
    """Return what a batch reported, without the reasons that refused nothing; None if it counted nothing.

    Args:
        progress: of a query, as Spark writes it in JSON.
    """
    observed = progress.get("observedMetrics") or {}
    counted = [counts for name, counts in observed.items() if name.partition("/")[0] == _NAME]
    if not counted:
        return None
    total = {reason: sum(int(counts.get(reason) or 0) for counts in counted) for reason in counted[0]}
    return {reason: count for reason, count in total.items() if count}
