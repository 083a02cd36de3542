"""A mirror: `include/mirrors/<name>.yaml`, topics of one Kafka that MirrorMaker 2 copies into another."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from sluice.specs.model.duration import Duration
from sluice.specs.model.resources import Memory
from sluice.specs.model.schedule import Schedule
from sluice.specs.model.spec import Name, Spec

LEAST_LAG = timedelta(seconds=10)
"""A check of a mirror takes seconds itself, and is made once a minute."""
EXCLUDED = ("__.*", r".*[\-.]internal", "heartbeats")
"""Patterns of topics that Kafka and MirrorMaker keep for themselves."""


def _is_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is no pattern ({error}); write a name, or a regular expression") from None
    return text


Pattern = Annotated[
    str,
    # What Java and Python read alike, and without the comma that would begin another one.
    StringConstraints(min_length=1, max_length=249, pattern=r"^[A-Za-z0-9._\-*+?|()\[\]\\^$]+$"),
    AfterValidator(_is_pattern),
]
"""A topic's name, or a regular expression for whole names."""


class MirrorSpec(Spec):
    """Topics of the Kafka of one deployment that are copied into that of another one, under the same names."""

    name: Annotated[Name, StringConstraints(max_length=50)]
    description: str = ""
    source: Name
    """The deployment whose Kafka is copied."""
    target: Name
    """The deployment whose Kafka holds the copy."""
    topics: tuple[Pattern, ...] = ()
    """Names, or regular expressions for whole names."""
    pipelines: tuple[Name, ...] = ()
    """Pipelines whose source topics are copied, too."""
    replication: int | None = Field(default=None, ge=1, le=32)
    """Replicas of the copies; omitted: as the target's deployment says."""
    sync_configs: bool = True
    """Whether configurations of the topics follow those of the source."""
    heartbeats: Duration | None = timedelta(seconds=10)
    """How often MirrorMaker writes a heartbeat into the target; null: never."""
    checkpoints: Duration | None = timedelta(minutes=1)
    """How often the positions of other consumers' groups are translated into the target; null: never. Streams have no
    groups: they are moved by `sluice mirror failover`."""
    max_lag: Duration = timedelta(minutes=5)
    """The oldest record that is not copied yet may be this old; beyond it the mirror alerts."""
    heap: Memory = "512m"
    rehearse: Schedule | None = None
    """When a fail-over is rehearsed; omitted: when somebody asks for it."""

    @model_validator(mode="after")
    def _copies_something(self) -> Self:
        faults = []
        if not self.topics and not self.pipelines:
            faults.append("it names no topic; write `topics`, `pipelines` or both")
        if self.source == self.target:
            faults.append(f"source and target are both {self.source!r}; name two deployments")
        faults += [
            f"`{name}` is {length}; write whole seconds from 1 second"
            for name, length in (("heartbeats", self.heartbeats), ("checkpoints", self.checkpoints))
            if length is not None and length < timedelta(seconds=1)
        ]
        if self.max_lag < LEAST_LAG:
            faults.append(f"`max_lag` is {self.max_lag}, and a check is made once a minute; write 10 seconds or more")
        if faults:
            raise ValueError("; ".join(faults))
        return self


def matching(patterns: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return those names that a mirror with these patterns copies, as MirrorMaker chooses them."""
    chosen = [re.compile(pattern) for pattern in patterns]
    return tuple(
        name
        for name in names
        if any(each.fullmatch(name) for each in chosen) and not any(re.fullmatch(each, name) for each in EXCLUDED)
    )
