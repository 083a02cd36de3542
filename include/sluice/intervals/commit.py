"""The entry that every commit carries in its metadata: the ledger's truth while the table's log lasts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from sluice.errors import CorruptionError
from sluice.intervals.coverage import Position

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class CommitEntry:
    """Who wrote a commit, from which input, with which code.

    Attributes:
        writer: the stream's app id: one per stream, set of topic ids and reset epoch.
        generation: the attempt that wrote it.
        lineage: the checkpoint's id, whose state is behind the rows; empty for a stream without state.
        batch_id: Spark's number of the batch within the lineage; for people, never a key.
        start: first offset per `topic/partition`.
        end: next offset per `topic/partition`.
        origin: first offset per partition that the lineage ever read: what its state can know.
        watermark: the watermark that the batch evicted by (UTC), or None.
        closed_until: end of the last interval that this commit closes, or None before the first.
        complete: the state behind the rows saw everything that earlier commits of this writer saw.
        code: hash of transform, validation, meaning of the spec and static inputs.
    """

    writer: str
    generation: int
    lineage: str
    batch_id: int
    start: Mapping[str, int]
    end: Mapping[str, int]
    origin: Mapping[str, int] = field(default_factory=dict)
    watermark: datetime | None = None
    closed_until: datetime | None = None
    complete: bool = True
    code: str = ""

    @property
    def position(self) -> Position:
        """How far the table goes after this commit."""
        return Position(self.end, self.watermark)

    def to_json(self) -> str:
        """Return the form that is stored in the commit."""
        data = asdict(self)
        for name in ("watermark", "closed_until"):
            data[name] = data[name].isoformat() if data[name] else None
        return json.dumps({"sluice": SCHEMA_VERSION, **data}, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | None) -> CommitEntry | None:
        """Read an entry; None for a commit that is not ours.

        Raises:
            CorruptionError: the entry says that it is ours and cannot be read.
        """
        try:
            data: Any = json.loads(text or "null")
        except ValueError:
            return None
        if not isinstance(data, dict) or "sluice" not in data:
            return None
        version = data.pop("sluice")
        if version != SCHEMA_VERSION:
            raise CorruptionError(
                f"a commit carries ledger schema {version!r}; this version of Sluice reads {SCHEMA_VERSION}.",
                fix="upgrade Sluice before it touches this table.",
            )
        try:
            for name in ("watermark", "closed_until"):
                data[name] = datetime.fromisoformat(data[name]) if data[name] else None
            return cls(**data)
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptionError(f"a commit's ledger entry cannot be read: {error}. It says {text!r:.300}.") from error
