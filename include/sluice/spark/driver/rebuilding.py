"""Streams whose checkpoint holds a state that does not fit their code: where they begin again instead of ending.

What is settled is in the interval table. So a live stream needs the records of open intervals alone to know all that
its outputs show of them, and the stream of a settled table needs no state at all. A stream of a pipeline without an
interval table does not begin again by itself: nothing bounds what its state is made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sluice.delta.first_offsets import first_offsets
from sluice.project.project import Project
from sluice.project.settlers import state_of_log
from sluice.settling.rules import SettlingRules
from sluice.spark.driver.causes import causes
from sluice.spark.records.pipeline import PipelineCode
from sluice.specs.model.model import PipelineSpec
from sluice.streams.failures.classification import classify
from sluice.streams.failures.failure import FailureClass
from sluice.streams.position.epochs import Epoch, joined_ids
from sluice.topics.administration import TopicExtent

OPEN_INTERVALS = "open intervals"
"""What the record of such an epoch says instead of a position that somebody asked for."""


def is_incompatible(error: Exception) -> bool:
    """Whether this is what Spark, or a stream itself, has against the state in a checkpoint."""
    kind, _ = classify(causes(error))
    return kind is FailureClass.INCOMPATIBLE_STATE


def new_beginning(
    project: Project, code: PipelineCode, extents: Mapping[str, TopicExtent], *, number: int, now: datetime
) -> Epoch | None:
    """Return the epoch in which a stream of a pipeline reads its open intervals again.

    Args:
        project: its tables.
        code: that the state does not fit.
        extents: what its topics hold, by their names.
        number: of the epoch.
        now: UTC.

    Returns:
        None if the pipeline has no interval table, or if the topic does not hold these records any more.
    """
    pipeline = code.pipeline
    if not pipeline.has_intervals:
        return None
    offsets = _open_offsets(project, pipeline, extents)
    first = {f"{topic}/{p}": offset for topic, extent in extents.items() for p, offset in extent.beginnings.items()}
    if any(offsets[partition] < offset for partition, offset in first.items() if partition in offsets):
        return None
    why = f"the state in the checkpoint does not fit the code {code.code_hash[:8]}; open intervals are read again"
    identity = joined_ids([*(extent.topic_id for extent in extents.values()), *pipeline.tables])
    return Epoch(number, identity, {**first, **offsets}, OPEN_INTERVALS, "the driver", why, now)


def _open_offsets(project: Project, pipeline: PipelineSpec, extents: Mapping[str, TopicExtent]) -> Mapping[str, int]:
    """Return where the records of open intervals begin; nothing if no interval is settled yet."""
    settled = state_of_log(project.folder, pipeline).settled_until
    if settled is None:
        return {}
    offsets: dict[str, int] = {}
    for topic, extent in extents.items():
        raw = project.folder.table(project.catalog.topics[topic].raw.table)
        since = settled - SettlingRules.of(pipeline, topic).lookback
        offsets |= first_offsets(raw, topic, extent.topic_id, since) or {}
    return offsets
