"""Who stamps a topic's records, and how far ahead of the broker's clock a stamp may lie.

Validation compares the time at which a record says that it arrived with the broker's timestamp. Where that one is the
producer's own (CreateTime), the broker has to refuse what lies too far ahead, or nothing would bound either of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from sluice.specs.model.duration import format_duration
from sluice.specs.model.model import PipelineSpec, TopicSpec
from sluice.specs.model.sources import CLOCK_SKEW
from sluice.specs.model.topic_shape import TopicShape

STAMPED_BY = "message.timestamp.type"
MAX_AHEAD = "message.timestamp.after.max.ms"
"""Kafka's name for how far a producer's timestamp may lie ahead of the broker's clock; what lies further is refused."""

_BY_BROKER = "LogAppendTime"
_NO_BOUND = 100 * 365 * 86_400_000
"""Milliseconds: what is longer than a century bounds nothing; Kafka's default before 4.0 is the largest number."""


def broker_stamps(topic: TopicShape) -> bool:
    """Whether the broker says itself when it got a record; Kafka's default is the producer's time."""
    return topic.configs.get(STAMPED_BY) == _BY_BROKER


def longest_skew(topic: str, readers: Iterable[PipelineSpec]) -> timedelta:
    """Return the longest skew that a topic's readers allow: what one of them believes, the broker must let in."""
    return max((reader.time_of(topic).clock_skew for reader in readers), default=CLOCK_SKEW)


def bounded(topic: TopicSpec, readers: Iterable[PipelineSpec]) -> TopicSpec:
    """Return the topic with the bound on its producers' timestamps that its readers need.

    Args:
        topic: as it is in one deployment.
        readers: the pipelines that read it.
    """
    if broker_stamps(topic) or MAX_AHEAD in topic.configs:
        return topic
    bound = {MAX_AHEAD: str(_milliseconds(longest_skew(topic.name, readers)))}
    return topic.model_copy(update={"configs": {**topic.configs, **bound}})


def bounds(value: str | None, skew: timedelta) -> bool:
    """Whether a value of `MAX_AHEAD` lets no timestamp lie further ahead than that."""
    return value is not None and value.isdecimal() and int(value) <= _milliseconds(skew)


def unbounded_stamps(topic: TopicSpec, in_force: Mapping[str, str], skew: timedelta) -> str:
    """Return how a topic lets its producers write times that its readers do not expect; empty if it does not.

    Args:
        topic: as its spec declares it in this deployment.
        in_force: the configurations by which the cluster keeps the topic, defaults among them.
        skew: the longest that a reader believes a producer's clock to be ahead.
    """
    if in_force.get(STAMPED_BY) == _BY_BROKER:
        return ""
    if broker_stamps(topic):
        return (
            f"the spec of {topic.name} says that the broker stamps its records, but in the cluster its producers do "
            f"({STAMPED_BY} is not {_BY_BROKER}): whatever time a producer writes counts as the time of arrival. "
            f"{_remedy(topic.name, STAMPED_BY, _BY_BROKER)}"
        )
    if bounds(in_force.get(MAX_AHEAD), skew):
        return ""
    return (
        f"the producers of {topic.name} stamp its records, and the broker takes a time {_ahead(in_force)} its clock, "
        f"although the topic's readers expect {format_duration(skew)} at most (clock_skew): after a record from the "
        "future, live outputs drop what follows, and interval tables may wait for a decision. "
        f"{_remedy(topic.name, MAX_AHEAD, str(_milliseconds(skew)))}"
    )


def _remedy(topic: str, config: str, value: str) -> str:
    return f"`sluice topics plan {topic}` shows the change; if others manage the topic, ask them for {config}={value}."


def _ahead(in_force: Mapping[str, str]) -> str:
    """Return how far ahead a broker lets a producer's time lie, up to the words for the broker's clock."""
    value = in_force.get(MAX_AHEAD)
    if value is None or not value.isdecimal() or int(value) > _NO_BOUND:
        return "however far ahead of"
    return f"up to {format_duration(timedelta(milliseconds=int(value)))} ahead of"


def _milliseconds(length: timedelta) -> int:
    return length // timedelta(milliseconds=1)
