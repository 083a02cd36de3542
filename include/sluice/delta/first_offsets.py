"""Where a raw table says that reading has to begin, so that no record of some time or later is left out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sluice.delta.log import newest_stream_entry
from sluice.delta.reading import dataset_of
from sluice.intervals.writers import topic_of
from sluice.storage.folder import Folder


def first_offsets(raw: Folder, topic: str, topic_id: str, since: datetime) -> Mapping[str, int] | None:
    """Return the first offset per `topic/partition` that holds a record of `since` or later.

    A partition without such a record begins where the table ends.

    Args:
        raw: the folder of the raw table.
        topic: its topic.
        topic_id: the cluster's UUID of it: records of a former topic of the same name do not count.
        since: the earliest event time that matters (UTC).

    Returns:
        None if the table has read nothing of this topic.

    Raises:
        CorruptionError: its log cannot be read.
    """
    import pyarrow.dataset as ds  # noqa: PLC0415 - Airflow parses files that read this package

    from sluice.delta.conditions import instant_scalar  # noqa: PLC0415

    newest = newest_stream_entry(raw)
    if newest is None or topic_of(newest.writer) != topic_id:
        return None
    later = (ds.field("topic_id") == topic_id) & (ds.field("event_time") >= instant_scalar(since))
    rows = dataset_of(raw).to_table(columns=["partition", "offset"], filter=later)
    found = rows.group_by("partition").aggregate([("offset", "min")]).to_pylist()
    first = {f"{topic}/{row['partition']}": int(row["offset_min"]) for row in found}
    return {partition: first.get(partition, end) for partition, end in newest.end.items()}
