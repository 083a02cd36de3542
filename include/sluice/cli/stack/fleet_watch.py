"""The fleet in a terminal, looked at again and again; without a terminal, a line for each change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sluice.cli.views.verdict_view import WIDE, lasting, sentences, styled
from sluice.clock import Clock
from sluice.errors import SluiceError
from sluice.project.project import Project
from sluice.streams.health.looks import Rates, rates_of
from sluice.streams.health.observation import Evidence
from sluice.streams.health.verdict import FINE, Health, Verdict
from sluice.streams.health.watched import StreamsWatched
from sluice.streams.life.sighting import Sighting

_BY_URGENCY = (
    *(Health.LOSS_RISK, Health.REWOUND, Health.STALLED, Health.UNKNOWN, Health.STOPPED, Health.LAGGING),
    *(Health.STARTING, Health.OK, Health.IDLE),
)


@dataclass(frozen=True)
class FleetRow:
    """One stream, as this look sees it."""

    unit: str
    stream: str
    verdict: Verdict
    rates: Rates


@dataclass
class FleetLook:
    """Looks at all units of a project; what it has seen before makes later verdicts better."""

    project: Project
    clock: Clock
    _windows: dict[str, StreamsWatched] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Prepare the observer, which keeps one connection."""
        self._observer = self.project.health.observer({})

    def close(self) -> None:
        """End the connection."""
        self._observer.close()

    def rows(self) -> list[FleetRow]:
        """Look once, and return the streams, those first that need somebody.

        Raises:
            UnreachableError: the control database could not be asked.
        """
        units = list(self.project.catalog.units())
        seen = self.project.streams.lives().record_ends(units).seen
        evidence = self._observer.evidence(seen)
        records = self.project.records.registry().newest_verdicts(list(seen))
        found: list[FleetRow] = []
        for unit, sighting in seen.items():
            watched = self._windows.setdefault(unit, StreamsWatched())
            watched.judge(evidence[unit], records.get(unit, {}), _generation(sighting))
            found += _rows(unit, watched, evidence[unit])
        return sorted(found, key=lambda row: (_BY_URGENCY.index(row.verdict.health), row.stream))


def watch_in_terminal(look: FleetLook, console: Console, every: float) -> None:
    """Show the fleet until somebody interrupts."""
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            try:
                live.update(drawn(look.rows(), look.clock.now(), console.width), refresh=True)
            except SluiceError as error:
                live.update(Text(str(error), style="red"), refresh=True)
            look.clock.sleep(every)


def changes(rows: Sequence[FleetRow], before: Mapping[str, Health], now: datetime) -> Iterator[str]:
    """Yield a line for each stream whose verdict is another than before.

    Args:
        rows: of this look.
        before: the verdicts of the look before, by stream.
        now: the present (UTC).
    """
    for row in rows:
        health = row.verdict.health
        if before.get(row.stream) is not health:
            advice = f" {row.verdict.what_to_do}" if row.verdict.what_to_do else ""
            yield f"{now:%Y-%m-%dT%H:%M:%SZ} {row.stream} {health} {row.verdict.why}{advice}"


def drawn(rows: Sequence[FleetRow], now: datetime, width: int) -> Group:
    """Return the fleet as a table under one line that sums it up."""
    needing = sum(row.verdict.health not in FINE for row in rows)
    said = f"{needing} of {len(rows)} streams are not fine" if needing else f"All {len(rows)} streams are fine"
    table = Table("stream", "verdict", box=None, pad_edge=False)
    for name in ("unread", "waits", "in/s", "read/s"):
        table.add_column(name, justify="right", no_wrap=True)
    if wide := width >= WIDE:
        table.add_column("why, and what to do")
    for row in rows:
        verdict = row.verdict
        unread = "?" if verdict.lag_records is None else f"{verdict.lag_records:,}"
        figures = (unread, lasting(verdict.lag_seconds), _rate(row.rates.arriving), _rate(row.rates.read))
        table.add_row(escape(row.stream), styled(verdict.health), *figures, *([sentences(verdict)] if wide else []))
    below = [] if wide else [f"{escape(row.stream)}: {sentences(row.verdict)}" for row in rows if _needs(row)]
    headline = Text(f"{said}, {now:%H:%M:%S} UTC. Ctrl-C ends.", style="red" if needing else "green")
    return Group(headline, table, *(Text.from_markup(line) for line in below))


def _needs(row: FleetRow) -> bool:
    return row.verdict.health not in FINE


def _rate(value: float | None) -> str:
    return "?" if value is None else f"{value:,.1f}"


def _rows(unit: str, watched: StreamsWatched, evidence: Mapping[str, Evidence]) -> list[FleetRow]:
    return [
        FleetRow(unit, stream, watched.verdicts[stream], rates_of(watched.windows[stream], look.at))
        for stream, look in evidence.items()
    ]


def _generation(sighting: Sighting) -> int:
    return 0 if sighting.attempt is None else sighting.attempt.generation
