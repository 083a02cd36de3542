"""Lanes: how soon a pipeline's live outputs show a record, at what price. Each is a preset of what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sluice.wording import ExplainedEnum


class Lane(ExplainedEnum):
    """How a pipeline's live outputs trade latency for cost."""

    THROUGHPUT = "throughput", "the fewest batches: a backlog or a stream whose readers come by the minute"
    BALANCED = "balanced", "a batch every few seconds"
    LATENCY = "latency", "the next batch begins when there is a record: tenths of a second"
    REALTIME = "realtime", "Spark's Real-Time Mode: each record by itself, in milliseconds, into one topic"


HURRIED = (Lane.LATENCY, Lane.REALTIME)
"""Lanes in which no record waits for a trigger."""


@dataclass(frozen=True)
class LanePreset:
    """What a lane sets.

    Attributes:
        trigger: least time between two micro-batches; of `realtime` how long a batch lasts, at whose end the position
            is committed: what a crash repeats.
        why: what was seen, for `sluice check --explain`.
    """

    trigger: timedelta
    why: str


LANES: Mapping[Lane, LanePreset] = {
    Lane.THROUGHPUT: LanePreset(timedelta(seconds=30), "a batch has a fixed price in commits and files"),
    Lane.BALANCED: LanePreset(timedelta(seconds=5), "few commits, and values of the last seconds"),
    Lane.LATENCY: LanePreset(timedelta(0), "no wait between batches"),
    Lane.REALTIME: LanePreset(timedelta(seconds=60), "no record waits for the end of a batch"),
}

OF_LANE = timedelta(seconds=-1)
"""Stands for a trigger that is not declared."""


def trigger_of_lane(trigger: object, fields: Mapping[str, object]) -> object:
    """Return the trigger that is declared, or that of the lane, given the fields of the spec that are sound."""
    if trigger is not OF_LANE:
        return trigger
    lane = fields.get("lane")
    return LANES[lane if isinstance(lane, Lane) else Lane.BALANCED].trigger  # a wrong lane has a fault of its own


def without_default(schema: dict[str, Any]) -> None:
    """Take the default of a key, which is the lane's, out of its JSON Schema."""
    schema.pop("default", None)
