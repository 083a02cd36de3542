"""Feeds: `include/feeds/<name>.yaml`."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, Self

from pydantic import model_validator

from sluice.specs.model.duration import Duration
from sluice.specs.model.spec import Name, Spec


class FeedSpec(Spec):
    """A reproducible source of records for a topic."""

    name: Name
    description: str = ""
    topic: Name
    source: Literal["nycflights13", "file"]
    """What makes the records: a module in `sluice.feeds`, or `file`, a file of your own."""
    path: str | None = None
    """Of a file: one JSON object per line, below `include/`, or below the package. It may be packed by gzip."""
    package: str | None = None
    """Of a file: an installed package that ships it."""
    key: Name | None = None
    """Of a file: the field whose value is the record's key. Omitted: records have none."""
    arrival_time: Name | None = None
    """Of a file: the timestamp field that says in which order and at which pace records are sent. Omitted: the topic's
    `arrival_time`, or its `event_time` where the broker says when they arrived."""
    max_unacknowledged_arrival: Duration = timedelta(minutes=15)
    """Records in flight never span more arrival time than this."""

    @model_validator(mode="after")
    def _says_what_its_source_needs(self) -> Self:
        ours = {"path": self.path, "package": self.package, "key": self.key, "arrival_time": self.arrival_time}
        given = [f"`{name}`" for name, value in ours.items() if value is not None]
        if self.source == "file" and self.path is None:
            raise ValueError("the source is a file, and `path` does not say which; write `path: data/<file>.jsonl`")
        if self.source != "file" and given:
            raise ValueError(f"{', '.join(given)} is of `source: file`, and this one is another")
        return self
