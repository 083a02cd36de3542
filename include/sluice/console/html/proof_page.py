"""What is shown of a proof: its pictures and tables, in the console and as one file that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from typing import Any

from sluice.clock import SystemClock
from sluice.console.charts.chart import PLACES, Chart, printable
from sluice.console.charts.limits import Limits, ShadedSpan
from sluice.console.charts.lines import ChartLine, lines
from sluice.console.charts.numbers import number_text
from sluice.console.html.rendering import console_site
from sluice.proof.figures import MINUTE, STEPS, FaultSpan, MinuteLatency, PartitionCount, ProofFigures
from sluice.proof.findings import ProofVerdict
from sluice.proof.report import ProofReport, ReportedFault
from sluice.streams.life.timeline import duration_text

TONES: Mapping[ProofVerdict, str] = {
    ProofVerdict.PROVEN: "good",
    ProofVerdict.BROKEN: "bad",
    ProofVerdict.INCONCLUSIVE: "warning",
}
"""The class of a verdict's colour; its word is always written beside it."""

MOST_ROWS, MOST_CHARTS, _MOST_FURTHER, _LONGEST = 100, 6, 12, 1_000
_OUTPUT_LINES = PLACES - 2


@dataclass(frozen=True)
class LatencyPicture:
    """The latencies of one output by minute, and what the picture means in words."""

    chart: Chart
    words: str


@dataclass(frozen=True)
class ShownFault:
    """A fault, with how it was survived in words and the class of their colour."""

    fault: ReportedFault
    at: datetime
    words: str
    tone: str


def proof_view(report: ProofReport) -> dict[str, Any]:
    """Return what the template `proof_body.html` needs of a report, whose texts it escapes."""
    figures = report.figures
    counts = sorted(_counts(figures), key=lambda each: not is_amiss(each[1]))
    return {
        "report": report,
        "tone": TONES[report.verdict],
        "facts": facts_of(report),
        "timeline": timeline_chart(report),
        "waiting": waiting_chart(report),
        "latencies": list(_latency_pictures(report))[:MOST_CHARTS],
        "faults": [_shown(*each) for each in zip_longest(report.faults[:MOST_ROWS], _spans_of(report))],
        "counts": counts[:MOST_ROWS],
        "intervals": list(figures.intervals.items())[:MOST_ROWS],
        "findings": report.findings[:MOST_ROWS],
        "unshown": {
            "findings": max(len(report.findings) - MOST_ROWS, 0),
            "faults": max(len(report.faults) - MOST_ROWS, 0),
            "partitions": max(len(counts) - MOST_ROWS, 0),
            "tables": max(len(figures.intervals) - MOST_ROWS, 0),
        },
        "is_amiss": is_amiss,
    }


def proof_page(report: ProofReport, now: datetime) -> str:
    """Return a proof as one HTML file without a script, which loads nothing.

    Args:
        report: of the proof.
        now: when the page was made (UTC).
    """
    site = console_site(SystemClock())
    styles = _for_any_theme("\n".join(map(site.static_text, ("console.css", "charts.css"))))
    return site.render_alone("proof_file.html", now=now, styles=styles, **proof_view(report))


def facts_of(report: ProofReport) -> dict[str, str]:
    """Return the overview: name → text. What a later version has added is there under its own name."""
    lasted = report.ended - report.begun if report.begun and report.ended else None
    facts = {
        "Records": ", ".join(f"{count:,} {outcome}" for outcome, count in report.sent.items()) or "none",
        "Made to be": ", ".join(f"{count:,} {fate}" for fate, count in report.made.items()),
        "Rate": f"{number_text(report.rate)} records per second, for at least {number_text(report.seconds)} s",
        "Begun": f"{report.begun.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if report.begun else "",
        "Lasted": duration_text(lasted) if lasted and lasted > timedelta(0) else "",
        "Intervals compared": f"{report.intervals_compared:,}",
        "Looks of readers": f"{report.looks:,}",
        "Alerts": "; ".join(report.alerts),
        "Alerts of the deployment meanwhile": "; ".join(report.alerts_beside),
        "Covered": ", ".join(report.covered) or "nothing",
        "Not covered": ", ".join(report.uncovered) or "nothing",
    }
    further = {
        name.replace("_", " ").capitalize(): str(value)
        for name, value in list((report.model_extra or {}).items())[:_MOST_FURTHER]
        if isinstance(value, str | int | float)
    }
    return {printable(name): printable(text, _LONGEST) for name, text in {**facts, **further}.items() if text}


def is_amiss(count: PartitionCount) -> bool:
    """Whether something is wrong with a partition, or was not seen."""
    return bool(count.lost is None or count.lost or count.twice or count.phantom)


def timeline_chart(report: ProofReport) -> Chart | None:
    """Return how many records were sent, acknowledged and read over time, the faults shaded; None without moments."""
    timeline = report.figures.timeline
    if timeline is None or not timeline.at:
        return None
    names = list(timeline.read)
    found = [("sent", timeline.sent), ("acknowledged", timeline.acknowledged)]
    found += [(f"read in {name}", timeline.read[name]) for name in names[:_OUTPUT_LINES]]
    return lines(
        "Records over time",
        [ChartLine(name, list(zip(timeline.at, counts, strict=True))) for name, counts in found],
        unit="records",
        most=STEPS + 1,
        from_zero=True,
        spans=_shaded(report.figures.spans, timeline.at[-1]),
        more=max(len(names) - _OUTPUT_LINES, 0),
    )


def waiting_chart(report: ProofReport) -> Chart | None:
    """Return how many acknowledged records nobody could read yet, over time, the faults shaded; None without any."""
    timeline = report.figures.timeline
    if timeline is None or not timeline.waiting:
        return None
    found = list(timeline.waiting.items())
    return lines(
        "Acknowledged records that could not be read yet",
        [ChartLine(name, list(zip(timeline.at, counts, strict=True))) for name, counts in found[:PLACES]],
        unit="records",
        most=STEPS + 1,
        from_zero=True,
        spans=_shaded(report.figures.spans, timeline.at[-1]),
        more=max(len(found) - PLACES, 0),
    )


def _shaded(spans: Sequence[FaultSpan], end: float) -> list[ShadedSpan]:
    return [ShadedSpan(each.at, each.until or end, each.name) for each in spans]


def _latency_pictures(report: ProofReport) -> Iterator[LatencyPicture]:
    for name, minutes in report.figures.minutes.items():
        if (chart := latency_chart(name, minutes, report)) is not None:
            yield LatencyPicture(chart, _words_of_latency(name, minutes, report))


def latency_chart(name: str, minutes: Sequence[MinuteLatency], report: ProofReport) -> Chart | None:
    """Return the latency of an output by minute: the worst is shaded, the 99.9th percentile an edge."""
    if not minutes:
        return None
    minutes = sorted(minutes, key=lambda each: each.at)
    worst = max(minutes, key=lambda each: each.mean)
    known = report.latencies.get(name)
    ends = (minutes[0].at, minutes[-1].at + MINUTE) if known else ()
    return lines(
        f"Latency until a reader sees a record in {name}, by minute of sending",
        [
            ChartLine("average", [(each.at + MINUTE / 2, each.mean) for each in minutes]),
            ChartLine("slowest", [(each.at + MINUTE / 2, each.slowest) for each in minutes]),
        ],
        unit="s",
        from_zero=True,
        limits=[Limits(at, None, known.p999) for at in ends if known],
        spans=[ShadedSpan(worst.at, worst.at + MINUTE, "worst minute", is_calm=True)],
    )


def _words_of_latency(name: str, minutes: Sequence[MinuteLatency], report: ProofReport) -> str:
    known, bounds = report.latencies.get(name), report.bounds
    if known is None:
        return ""
    worst = _promised(known.worst_minute, bounds.worst_minute)
    slowest = _promised(known.p999, bounds.p999)
    count = sum(each.records for each in minutes)
    return printable(
        f"Worst minute, shaded: {worst} on average. 99.9th percentile, dashed: {slowest}. "
        f"The slowest of {count:,} records was {known.slowest}.",
        _LONGEST,
    )


def _promised(seconds: float, bound: float | None) -> str:
    promise = "" if bound is None else f" (promised {number_text(bound)} s)"
    return f"{number_text(seconds)} s{promise}"


def _spans_of(report: ProofReport) -> Sequence[FaultSpan]:
    """Return the span of each fault, as far as there is one in its place."""
    return report.figures.spans[: len(report.faults[:MOST_ROWS])]


def _shown(fault: ReportedFault, span: FaultSpan | None) -> ShownFault:
    at = datetime.fromtimestamp(fault.at, UTC)
    if not fault.evidence:
        return ShownFault(fault, at, "no evidence", "warning")
    if fault.healed is None:
        return ShownFault(fault, at, "nothing was sent after it", "warning")
    if not fault.healed:
        return ShownFault(fault, at, "not healed", "bad")
    if span is None or span.until is None:
        return ShownFault(fault, at, "healed", "good")
    return ShownFault(fault, at, f"healed after {number_text(round(max(0.0, span.until - fault.at), 1))} s", "good")


def _counts(figures: ProofFigures) -> Iterator[tuple[str, PartitionCount]]:
    for name, partitions in figures.partitions.items():
        yield from ((name, each) for each in partitions)


_DARK = re.compile(r':root\[data-theme="dark"\] (\{[^}]*\})')


def _for_any_theme(styles: str) -> str:
    """Return styles that take the browser's theme: no script is there to say which."""
    return _DARK.sub(r"@media (prefers-color-scheme: dark) { :root \1 }", styles)
