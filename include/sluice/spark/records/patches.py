"""Declared patches as a column: the bytes that are decoded. What is kept and shown are those that were sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.specs.model.patches import Patch

_BYTES = "ISO-8859-1"
"""Makes one character of each byte and the other way round, so that bytes that are no text come through unchanged."""


def patched(records: DataFrame, patches: Sequence[Patch]) -> Column:
    """Return the bytes to decode.

    Args:
        records: columns `_value`, and `_topic_id`, `_partition` and `_offset` if they come from Kafka: others are at no
            place, and no patch is meant for them.
        patches: one after the other.
    """
    value = F.col("_value")
    if not patches or "_topic_id" not in records.columns:
        return value
    for patch in patches:
        text = F.decode(value, _BYTES)
        for replacement in patch.replace:
            text = F.regexp_replace(text, F.lit(_bytewise(replacement.pattern)), F.lit(_bytewise(replacement.by)))
        value = F.when(_is_meant(patch), F.encode(text, _BYTES)).otherwise(value)
    return value


def _is_meant(patch: Patch) -> Column:
    partitions = (
        (F.col("_partition") == partition) & _within(ranges)
        for parts in patch.places.ranges.values()
        for partition, ranges in parts.items()
    )
    return (F.col("_topic_id") == patch.topic_id) & reduce(or_, partitions)


def _within(ranges: Iterable[tuple[int, int]]) -> Column:
    return reduce(or_, (F.col("_offset").between(first, last) for first, last in ranges))


def _bytewise(text: str) -> str:
    return text.encode().decode(_BYTES)
