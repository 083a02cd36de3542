"""Feeds: `include/feeds/<name>.yaml`."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, Self

from pydantic import model_validator

from sluice.specs.feeds.simulation import Simulation
from sluice.specs.model.duration import Duration
from sluice.specs.model.spec import Name, Spec

_ONLY_OF = {
    "path": ("file",),
    "package": ("file",),
    "arrival_time": ("file",),
    "key": ("file", "simulate"),
    "simulate": ("simulate",),
}
"""The sources of each key that not every source has."""


class FeedSpec(Spec):
    """A reproducible source of records for a topic."""

    name: Name
    description: str = ""
    topic: Name
    source: Literal["nycflights13", "file", "simulate"]
    """What makes the records: a module in `sluice.feeds`; `file`, a file of your own; or `simulate`, a simulator."""
    path: str | None = None
    """Of a file: one JSON object per line, below `include/`, or below the package. It may be packed by gzip."""
    package: str | None = None
    """Of a file: an installed package that ships it."""
    key: Name | None = None
    """Of a file or a simulator: the field whose value is the record's key. Omitted: records have none."""
    arrival_time: Name | None = None
    """Of a file: the timestamp field that says in which order and at which pace records are sent. Omitted: the topic's
    `arrival_time`, or its `event_time` where the broker says when they arrived."""
    simulate: Simulation | None = None
    """Of a simulator: the events that it makes."""
    max_unacknowledged_arrival: Duration = timedelta(minutes=15)
    """Records in flight never span more arrival time than this."""

    @model_validator(mode="after")
    def _says_what_its_source_needs(self) -> Self:
        if self.source == "file" and self.path is None:
            raise ValueError("the source is a file, and `path` does not say which; write `path: data/<file>.jsonl`")
        if self.source == "simulate" and self.simulate is None:
            raise ValueError("the source is a simulator, and `simulate` does not say what it makes")
        for key, sources in _ONLY_OF.items():
            if getattr(self, key) is not None and self.source not in sources:
                of = " or ".join(f"`source: {source}`" for source in sources)
                raise ValueError(f"`{key}` is of {of}, and this one is another; remove it")
        return self
