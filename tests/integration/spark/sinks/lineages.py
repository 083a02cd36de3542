"""Checkpoints of a stream, written by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path


@dataclass
class Lineage:
    """A checkpoint as Spark would have written it, one planned batch at a time."""

    folder: Path
    name: str
    origin: int = 0
    batches: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        for part in ("offsets", "sources/0"):
            (self.folder / part).mkdir(parents=True)
        (self.folder / "metadata").write_text(json.dumps({"id": self.name}))
        (self.folder / "sources/0/0").write_text(json.dumps({"t": {"0": self.origin}}))

    def plan(self, end: int, watermark: datetime | None, **others: int) -> int:
        """Plan the next batch up to `end` (of partition 0; `p1` of 1), evicting by `watermark`; return its id."""
        milliseconds = int(watermark.timestamp() * 1000) if watermark else 0
        batch, ends = len(self.batches), {"0": end, **{name[1:]: other for name, other in others.items()}}
        lines = ["v1", json.dumps({"batchWatermarkMs": milliseconds}), json.dumps({"t": ends})]
        (self.folder / "offsets" / str(batch)).write_text("\n".join(lines))
        self.batches.append(end)
        return batch
