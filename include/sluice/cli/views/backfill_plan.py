"""The plan of a backfill: the intervals that it would process, by chunk, and why it skips the others."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from rich.console import Console

from sluice.cli.terminal.output import counted
from sluice.intervals.alignment import Interval, contiguous
from sluice.intervals.backfill.selection import Selection
from sluice.project.chains import Downstream


@dataclass(frozen=True)
class BackfillPlan:
    """A selection, cut into chunks of one commit each.

    Attributes:
        selection: the request, with the intervals that are processed and skipped.
        chunks: ranges that are processed one after the other.
        in_the_way: why a run would be refused now; empty if it would not.
        downstream: settled intervals of other pipelines that are made of the rows of the range.
    """

    selection: Selection
    chunks: tuple[Interval, ...]
    in_the_way: str = ""
    downstream: tuple[Downstream, ...] = ()

    @classmethod
    def of(cls, selection: Selection, longest: timedelta, in_the_way: str = "") -> BackfillPlan:
        """Cut a selection into chunks that span no more than `longest`."""
        chunks = (Interval(rows[0].interval.start, rows[-1].interval.end) for rows in selection.chunks(longest))
        return cls(selection, tuple(chunks), in_the_way)

    @property
    def skipped(self) -> dict[str, list[Interval]]:
        """The skipped ranges, by reason."""
        by_reason: dict[str, list[Interval]] = {}
        for interval, why in self.selection.left.items():
            by_reason.setdefault(why, []).append(interval)
        return {why: contiguous(intervals) for why, intervals in by_reason.items()}

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        request = self.selection.request
        return {
            "pipeline": request.pipeline,
            "mode": request.mode,
            "only": request.only,
            **_bounds(request.range),
            "intervals": len(self.selection.taken),
            "taken": [_bounds(interval) for interval in self.selection.ranges],
            "chunks": [_bounds(interval) for interval in self.chunks],
            "left": [{**_bounds(interval), "why": why} for why, ranges in self.skipped.items() for interval in ranges],
            "in_the_way": self.in_the_way,
            "downstream": [each.as_dict() for each in self.downstream],
        }

    def print(self, console: Console) -> None:
        """Print the plan for people."""
        request, taken = self.selection.request, len(self.selection.taken)
        only = "" if request.only == "all" else f", only {request.only}"
        what = f"{request.mode} {request.pipeline}{only}, {_words(request.range)}"
        chunks = counted(len(self.chunks), "chunk")
        console.print(f"{what}: processes {counted(taken, 'interval')} in {chunks}.", markup=False)
        for chunk in self.chunks:
            console.print(f"  + {_words(chunk)}", style="green", markup=False)
        for why, ranges in self.skipped.items():
            for interval in ranges:
                console.print(f"  - {_words(interval)}  {why}".rstrip(), style="dim", markup=False, soft_wrap=True)
        for each in self.downstream:
            console.print(each.in_words, markup=False, soft_wrap=True)
        if self.in_the_way:
            console.print(f"A run would be refused now: {self.in_the_way}", style="red", markup=False, soft_wrap=True)


def _bounds(interval: Interval) -> dict[str, str]:
    return {"from": interval.start.isoformat(), "to": interval.end.isoformat()}


def _words(interval: Interval) -> str:
    return f"{interval.start:%FT%RZ} to {interval.end:%FT%RZ}"
