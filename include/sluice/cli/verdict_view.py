"""How a verdict looks on the terminal."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from sluice.streams.verdict import Health, PartitionLag, Verdict

STYLES = {
    Health.OK: "green",
    Health.IDLE: "green",
    Health.LAGGING: "yellow",
    Health.STOPPED: "yellow",
    Health.STALLED: "red",
    Health.REWOUND: "red",
    Health.LOSS_RISK: "red",
    Health.UNKNOWN: "red",
}


def verdict_table(*leading: str) -> Table:
    """Return an empty table for `verdict_row`, after columns of the caller's."""
    table = Table(*leading, "stream", "verdict", box=None)
    for name in ("batches", "unread", "waits", "watermark"):
        table.add_column(name, justify="right")
    table.add_column("why, and what to do")
    return table


def verdict_row(stream: str, verdict: Verdict) -> tuple[str, ...]:
    """Return a stream's cells: what is unread, how long it waits at least, and how far the watermark is behind."""
    advice = f" [dim]{escape(verdict.what_to_do)}[/dim]" if verdict.what_to_do else ""
    return (
        stream,
        styled(verdict.health),
        f"{verdict.batches:,}",
        "?" if verdict.lag_records is None else f"{verdict.lag_records:,}",
        in_seconds(verdict.lag_seconds),
        in_seconds(verdict.watermark_lag_seconds),
        f"{escape(verdict.why)}{advice}",
    )


def partition_table(partitions: tuple[PartitionLag, ...]) -> Table:
    """Return what is unread of each partition."""
    table = Table("partition", box=None)
    for name in ("unread", "waits"):
        table.add_column(name, justify="right")
    for lag in partitions:
        table.add_row(lag.partition, f"{lag.records:,}", in_seconds(lag.seconds))
    return table


def styled(health: Health) -> str:
    """Return the verdict's word in its colour."""
    return f"[{STYLES[health]}]{health}[/{STYLES[health]}]"


def in_seconds(seconds: float | None) -> str:
    """Return a duration, or a question mark where it is not known."""
    return "?" if seconds is None else f"{seconds:,.0f} s"
