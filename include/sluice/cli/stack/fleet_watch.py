"""`sluice status --watch`: the fleet in a terminal, or a line per change without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sluice.cli.views.verdict_view import WIDE, format_seconds, sentences, styled
from sluice.clock import Clock
from sluice.errors import SluiceError
from sluice.project.project import Project
from sluice.streams.health.health import FINE, Health
from sluice.streams.health.settlers import upstream_elsewhere
from sluice.streams.health.snapshots import Rates, rates_of
from sluice.streams.health.tracking import StreamTracker
from sluice.streams.health.verdict import Verdict

_BY_URGENCY = (
    *(Health.LOSS_RISK, Health.REWOUND, Health.STALLED, Health.UNKNOWN, Health.STOPPED, Health.LAGGING),
    *(Health.STARTING, Health.OK, Health.IDLE, Health.SCHEDULED),
)


@dataclass(frozen=True)
class FleetRow:
    """One stream in this round of observation."""

    unit: str
    stream: str
    verdict: Verdict
    rates: Rates


@dataclass
class FleetMonitor:
    """Observes all units of a project. It keeps their history, which makes later verdicts more precise."""

    project: Project
    clock: Clock
    _trackers: dict[str, StreamTracker] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Prepare the observer, which keeps a connection."""
        self._observer = self.project.health.observer({})

    def close(self) -> None:
        """Close the connection."""
        self._observer.close()

    def rows(self) -> list[FleetRow]:
        """Observe once, and return the streams, most urgent first.

        Raises:
            UnreachableError: the control database did not answer.
        """
        units = list(self.project.catalog.units())
        seen = self.project.streams.lives().record_ends(units).by_unit
        observations = self._observer.observations(seen)
        records = self.project.records.registry().newest_verdicts(list(seen))
        rows: list[FleetRow] = []

        def elsewhere(stream: str) -> Verdict | None:
            trackers = (self._trackers[unit] for unit in seen if unit in self._trackers)
            return next((own.verdicts[stream] for own in trackers if stream in own.verdicts), None)

        for unit in sorted(seen, key=lambda unit: bool(upstream_elsewhere(observations[unit]))):
            status, tracker = seen[unit], self._trackers.setdefault(unit, StreamTracker())
            generation = 0 if status.attempt is None else status.attempt.generation
            tracker.judge(observations[unit], records.get(unit, {}), generation, elsewhere)
            for stream, observed in observations[unit].items():
                rates = rates_of(tracker.windows[stream], observed.at)
                rows.append(FleetRow(unit, stream, tracker.verdicts[stream], rates))
        return sorted(rows, key=lambda row: (_BY_URGENCY.index(row.verdict.health), row.stream))


def watch_in_terminal(monitor: FleetMonitor, console: Console, every: float) -> None:
    """Show the fleet until Ctrl-C, with `every` seconds between two rounds."""
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            try:
                live.update(fleet_panel(monitor.rows(), monitor.clock.now(), console.width), refresh=True)
            except SluiceError as error:
                live.update(Text(str(error), style="red"), refresh=True)
            monitor.clock.sleep(every)


def changed(rows: Sequence[FleetRow], before: Mapping[str, Health]) -> list[FleetRow]:
    """Return the rows whose verdict differs from the one `before`, by stream."""
    return [row for row in rows if before.get(row.stream) is not row.verdict.health]


def change_line(row: FleetRow, now: datetime) -> str:
    """Return the line for a stream whose verdict has changed; `now` is in UTC."""
    verdict = row.verdict
    parts = (f"{now:%Y-%m-%dT%H:%M:%SZ}", row.stream, verdict.health, verdict.why, verdict.what_to_do)
    return " ".join(filter(None, parts))


def fleet_panel(rows: Sequence[FleetRow], now: datetime, width: int) -> Group:
    """Return the fleet as a summary line and a table; `now` is in UTC, `width` in columns."""
    needing = [row for row in rows if row.verdict.health not in FINE]
    total = len(rows)
    summary = f"{len(needing)} of {total} streams need attention" if needing else f"All {total} streams are fine"
    table = Table("stream", "verdict", box=None, pad_edge=False)
    for name in ("unread", "waits", "in/s", "read/s"):
        table.add_column(name, justify="right", no_wrap=True)
    if wide := width >= WIDE:
        table.add_column("why, and what to do")
    for row in rows:
        verdict = row.verdict
        unread = "?" if verdict.lag_records is None else f"{verdict.lag_records:,}"
        figures = (unread, format_seconds(verdict.lag_seconds), _rate(row.rates.arriving), _rate(row.rates.read))
        table.add_row(escape(row.stream), styled(verdict.health), *figures, *([sentences(verdict)] if wide else []))
    below = [] if wide else [f"{escape(row.stream)}: {sentences(row.verdict)}" for row in needing]
    headline = Text(f"{summary}, {now:%H:%M:%S} UTC. Press Ctrl-C to quit.", style="red" if needing else "green")
    return Group(headline, table, *(Text.from_markup(line) for line in below))


def _rate(value: float | None) -> str:
    return "?" if value is None else f"{value:,.1f}"
