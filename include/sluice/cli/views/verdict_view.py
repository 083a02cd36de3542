"""Verdicts on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sluice.streams.health.health import Health
from sluice.streams.health.verdict import PartitionLag, Verdict
from sluice.streams.life.timeline import duration_text

STYLES = {
    Health.OK: "green",
    Health.IDLE: "green",
    Health.SCHEDULED: "green",
    Health.STARTING: "cyan",
    Health.LAGGING: "yellow",
    Health.STOPPED: "yellow",
    Health.STALLED: "red",
    Health.REWOUND: "red",
    Health.LOSS_RISK: "red",
    Health.UNKNOWN: "red",
}


WIDE = 130
"""From this width on the sentences are in a column of the table."""


def print_verdicts(console: Console, verdicts: Sequence[tuple[str, Verdict, tuple[str, ...]]], *leading: str) -> None:
    """Print streams with their verdicts. On a narrow terminal the sentences are below the table.

    Args:
        console: the terminal.
        verdicts: stream, verdict, and the stream's cells in the leading columns.
        leading: the names of the leading columns.
    """
    wide = console.width >= WIDE
    table = Table(*leading, box=None, pad_edge=False, collapse_padding=True)
    table.add_column("stream", overflow="fold")
    table.add_column("verdict")
    for name in ("batches", "lag", "oldest", "watermark delay"):
        table.add_column(name, justify="right", no_wrap=True)
    if wide:
        table.add_column("why, and what to do")
    for stream, verdict, cells in verdicts:
        table.add_row(*cells, *verdict_row(stream, verdict), *([sentences(verdict)] if wide else []))
    console.print(table)
    for stream, verdict, _ in () if wide else verdicts:
        console.print(f"{escape(stream)}: {sentences(verdict)}", highlight=False)


def sentences(verdict: Verdict) -> str:
    """Return the reason of a verdict and the advice, as markup."""
    advice = f" [dim]{escape(verdict.what_to_do)}[/dim]" if verdict.what_to_do else ""
    return f"{escape(verdict.why)}{advice}"


def verdict_row(stream: str, verdict: Verdict) -> tuple[str, ...]:
    """Return a stream's cells: name, verdict, batches, lag in records, age of the oldest of them, watermark delay."""
    return (
        stream,
        styled(verdict.health),
        f"{verdict.batches:,}",
        "?" if verdict.lag_records is None else f"{verdict.lag_records:,}",
        format_seconds(verdict.lag_seconds),
        format_seconds(verdict.watermark_lag_seconds),
    )


def partition_table(partitions: tuple[PartitionLag, ...]) -> Table:
    """Return the unread records of each partition as a table."""
    table = Table("partition", box=None)
    for name in ("lag", "oldest"):
        table.add_column(name, justify="right", no_wrap=True)
    for lag in partitions:
        table.add_row(lag.partition, f"{lag.records:,}", format_seconds(lag.seconds))
    return table


def styled(health: Health) -> str:
    """Return the word of a verdict as markup in its colour."""
    return f"[{STYLES[health]}]{health}[/{STYLES[health]}]"


def format_seconds(seconds: float | None) -> str:
    """Return a duration in words, or a question mark if it is unknown."""
    return "?" if seconds is None else duration_text(timedelta(seconds=seconds))
