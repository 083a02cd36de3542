"""How a feed that follows a live source appears on the terminal: what happens, and its manifest."""

from __future__ import annotations

import math
from datetime import datetime

from pydantic import JsonValue
from rich.table import Table

from sluice.cli.terminal.output import counted, err_lines, out, out_lines
from sluice.clock import Clock
from sluice.feeds.following.manifest import FollowManifest

_SECONDS_BETWEEN_LINES = 10.0
_SHOWN_GAPS = 20


class FollowPrinter:
    """Prints what happens on stderr, and every ten seconds how far the feed is."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._printed, self._records = -math.inf, 0

    def tell(self, message: str) -> None:
        """Print a sentence with its time (UTC)."""
        err_lines.print(f"{self._clock.now():%H:%M:%S} {message}")

    def report(self, manifest: FollowManifest) -> None:
        """Print a line if the last one is long enough ago."""
        now = self._clock.monotonic()
        if (passed := now - self._printed) < _SECONDS_BETWEEN_LINES:
            return
        rate = "" if math.isinf(passed) else f", {(manifest.records - self._records) / passed:,.0f}/s"
        self._printed, self._records = now, manifest.records
        self.tell(f"{manifest.feed}: {counted(manifest.records, 'record')}{rate}, {position_text(manifest)}")


def position_text(manifest: FollowManifest) -> str:
    """Return how far a feed is, such as `cursor 1764212345678901 (2025-11-27 02:59:05 UTC)`."""
    if manifest.cursor is None:
        return "no cursor"
    at = "" if manifest.cursor_at is None else f" ({_instant(manifest.cursor_at)})"
    return f"cursor {_cursor_text(manifest.cursor)}{at}"


def follow_summary(manifest: FollowManifest) -> str:
    """Return what a feed has reached in one sentence."""
    gaps = len(manifest.gaps) + manifest.older_gaps
    missed = f", with {counted(gaps, 'gap')}: `sluice feed manifest {manifest.feed}`" if gaps else ""
    return f"{manifest.topic} now has {counted(manifest.records, 'record')} of the feed {manifest.feed}{missed}."


def show_follow_manifest(manifest: FollowManifest) -> None:
    """Print a manifest for people."""
    counts = Table("what", "count", box=None, title=f"{manifest.feed}: followed")
    for name, count in (
        ("records in the topic", manifest.records),
        ("events that came again, and were not sent again", manifest.repeated),
        ("records that are no JSON objects", manifest.no_object),
        ("records without an identity, which may be doubled", manifest.no_identity),
        ("connections that ended or could not be made", manifest.disconnects),
        ("gaps", len(manifest.gaps) + manifest.older_gaps),
    ):
        counts.add_row(name, f"{count:,}")
    out.print(counts)
    if manifest.gaps:
        gaps = Table("missing since (UTC)", "until (UTC)", "why", box=None)
        for gap in manifest.gaps[-_SHOWN_GAPS:]:
            gaps.add_row(_instant(gap.since, zone=""), _instant(gap.until, zone=""), gap.why)
        out.print(gaps)
    until = "never" if manifest.followed_until is None else _instant(manifest.followed_until)
    out_lines.print(
        f"{position_text(manifest)}; acknowledged until {until}; topic {manifest.topic} ({manifest.topic_id})"
    )


def _cursor_text(cursor: JsonValue) -> str:
    if isinstance(cursor, dict):
        return f"{cursor.get('file') or 'no file'} line {cursor.get('line')}"
    return str(cursor)


def _instant(at: datetime, zone: str = " UTC") -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}{zone}"
