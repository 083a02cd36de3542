"""How a verdict looks on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sluice.streams.health.verdict import Health, PartitionLag, Verdict
from sluice.streams.life.timeline import in_words

STYLES = {
    Health.OK: "green",
    Health.IDLE: "green",
    Health.STARTING: "cyan",
    Health.LAGGING: "yellow",
    Health.STOPPED: "yellow",
    Health.STALLED: "red",
    Health.REWOUND: "red",
    Health.LOSS_RISK: "red",
    Health.UNKNOWN: "red",
}


WIDE = 130
"""Columns of a terminal from which on the sentences stand beside the figures."""


def print_verdicts(console: Console, verdicts: Sequence[tuple[str, Verdict, tuple[str, ...]]], *leading: str) -> None:
    """Print streams with their verdicts. On a narrow terminal the sentences are below: a column would be a word wide.

    Args:
        console: the terminal.
        verdicts: the stream, its verdict, and its cells in the columns of the caller's.
        leading: names of those columns, which come first.
    """
    wide = console.width >= WIDE
    table = Table(*leading, box=None, pad_edge=False, collapse_padding=True)
    table.add_column("stream", overflow="fold")
    table.add_column("verdict")
    for name in ("batches", "unread", "waits", "watermark"):
        table.add_column(name, justify="right", no_wrap=True)
    if wide:
        table.add_column("why, and what to do")
    for stream, verdict, cells in verdicts:
        table.add_row(*cells, *verdict_row(stream, verdict), *([sentences(verdict)] if wide else []))
    console.print(table)
    for stream, verdict, _ in () if wide else verdicts:
        console.print(f"{escape(stream)}: {sentences(verdict)}", highlight=False)


def sentences(verdict: Verdict) -> str:
    """Return why a stream is judged so and what to do, as markup."""
    advice = f" [dim]{escape(verdict.what_to_do)}[/dim]" if verdict.what_to_do else ""
    return f"{escape(verdict.why)}{advice}"


def verdict_row(stream: str, verdict: Verdict) -> tuple[str, ...]:
    """Return a stream's cells: what is unread, how long it waits at least, and how far the watermark is behind."""
    return (
        stream,
        styled(verdict.health),
        f"{verdict.batches:,}",
        "?" if verdict.lag_records is None else f"{verdict.lag_records:,}",
        lasting(verdict.lag_seconds),
        lasting(verdict.watermark_lag_seconds),
    )


def partition_table(partitions: tuple[PartitionLag, ...]) -> Table:
    """Return what is unread of each partition."""
    table = Table("partition", box=None)
    for name in ("unread", "waits"):
        table.add_column(name, justify="right", no_wrap=True)
    for lag in partitions:
        table.add_row(lag.partition, f"{lag.records:,}", lasting(lag.seconds))
    return table


def styled(health: Health) -> str:
    """Return the verdict's word in its colour."""
    return f"[{STYLES[health]}]{health}[/{STYLES[health]}]"


def lasting(seconds: float | None) -> str:
    """Return a duration, or a question mark where it is not known."""
    return "?" if seconds is None else in_words(timedelta(seconds=seconds))
