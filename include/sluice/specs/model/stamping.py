"""Who stamps a topic's records, and how far ahead of the broker's clock a stamp may lie.

Validation compares the time at which a record says that it arrived with the broker's timestamp. Where that one is the
producer's own (CreateTime), the broker has to refuse what lies too far ahead, or nothing would bound either of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from sluice.specs.model.model import CLOCK_SKEW, PipelineSpec, TopicSpec
from sluice.specs.model.topic_shape import TopicShape

STAMPED_BY = "message.timestamp.type"
MAX_AHEAD = "message.timestamp.after.max.ms"
"""Kafka's name for how far a producer's timestamp may lie ahead of the broker's clock; what lies further is refused."""


def broker_stamps(topic: TopicShape) -> bool:
    """Whether the broker says itself when it got a record; Kafka's default is the producer's time."""
    return topic.configs.get(STAMPED_BY) == "LogAppendTime"


def longest_skew(readers: Iterable[PipelineSpec]) -> timedelta:
    """Return the longest skew that a topic's readers allow: what one of them believes, the broker must let in."""
    return max((reader.time.clock_skew for reader in readers), default=CLOCK_SKEW)


def bounded(topic: TopicSpec, readers: Iterable[PipelineSpec]) -> TopicSpec:
    """Return the topic with the bound on its producers' timestamps that its readers need.

    Args:
        topic: as it is in one deployment.
        readers: the pipelines that read it.
    """
    if broker_stamps(topic) or MAX_AHEAD in topic.configs:
        return topic
    bound = {MAX_AHEAD: str(_milliseconds(longest_skew(readers)))}
    return topic.model_copy(update={"configs": {**topic.configs, **bound}})


def bounds(value: str | None, skew: timedelta) -> bool:
    """Whether a value of `MAX_AHEAD` lets no timestamp lie further ahead than that."""
    return value is not None and value.isdecimal() and int(value) <= _milliseconds(skew)


def _milliseconds(length: timedelta) -> int:
    return length // timedelta(milliseconds=1)
