"""Which windows of a transform an interval table takes: any, where the spec declares how far they read beyond it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import gcd
from pathlib import Path
from typing import Literal

from sluice.specs.model.duration import format_duration, parse_duration
from sluice.specs.model.outputs import IntervalsOutput
from sluice.specs.model.sources import SourceSpec, TableSource

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class WindowCall:
    """One call that makes windows.

    Attributes:
        file: the module.
        line: in it.
        session: whether they end when nothing happens for a while.
        length: None where reading the code does not tell.
        slide: from one start to the next; None where they tumble, or where that is not known.
        offset: of the starts from midnight UTC.
        gap: after which a session ends; None where that is not known.
        edge: of a window that the table's time column holds; None where that is not known.
    """

    file: Path
    line: int
    session: bool = False
    length: timedelta | None = None
    slide: timedelta | None = None
    offset: timedelta | None = None
    gap: timedelta | None = None
    edge: Literal["start", "end"] | None = None


def length_of(text: str | None) -> timedelta | None:
    """Return a length that a window is given as text; None without one, and in a form that only Spark knows."""
    try:
        return None if text is None else parse_duration(text)
    except ValueError:
        return None


Misfit = tuple[WindowCall, str, str]
"""The call, why the table cannot take it, and what to do."""


def unfit_windows(windows: Sequence[WindowCall], output: IntervalsOutput) -> Iterator[Misfit]:
    """Yield what an interval table cannot take: the call, why, and what to do.

    Args:
        windows: of the transform.
        output: the table.
    """
    for window in windows:
        yield from _unfit(window, output)
    yield from _other_lengths(windows, output)


def reach_of(source: SourceSpec | TableSource, output: IntervalsOutput) -> tuple[timedelta, timedelta]:
    """Return how far before an interval the records of a source begin, and how far behind its end they go on."""
    back, ahead = source.lookback, source.lookahead
    return output.lookback if back is None else back, output.lookahead if ahead is None else ahead


def _unfit(window: WindowCall, output: IntervalsOutput) -> Iterator[Misfit]:
    if window.session:
        yield from _unfit_session(window, output)
    elif window.length is not None:
        ahead, back = read_beyond(window, window.length, output.interval_length)
        enough = {"start": output.lookahead >= ahead, "end": output.lookback >= back}
        if not (any(enough.values()) if window.edge is None else enough[window.edge]):
            finding = _reach(window, output, ahead, back)
            yield window, f"its windows of {format_duration(window.length)} {finding}.", _declare(window, ahead, back)


def read_beyond(window: WindowCall, length: timedelta, interval: timedelta) -> tuple[timedelta, timedelta]:
    """Return how far windows reach beyond the interval in which they begin, and before the one in which they end.

    Args:
        window: which they are.
        length: of each.
        interval: length of an interval.
    """
    slide, offset = window.slide or length, window.offset or timedelta()
    step = gcd(slide // _MICROSECOND, interval // _MICROSECOND) * _MICROSECOND  # between places of starts in intervals
    return max(length - step + offset % step, timedelta()), length


def _reach(window: WindowCall, output: IntervalsOutput, ahead: timedelta, back: timedelta) -> str:
    at_start = f"reach up to {format_duration(ahead)} beyond the {output.interval} in which they begin"
    at_end = f"begin up to {format_duration(back)} before the {output.interval} in which they end"
    match window.edge:
        case "start":
            return f"{at_start}, and the spec declares a `lookahead` of {format_duration(output.lookahead)}"
        case "end":
            return f"{at_end}, and the spec declares a `lookback` of {format_duration(output.lookback)}"
        case None:
            return f"{at_start}, and {at_end}; the spec declares neither"


def _declare(window: WindowCall, ahead: timedelta, back: timedelta) -> str:
    at_start, at_end = f"`lookahead: {format_duration(ahead)}`", f"`lookback: {format_duration(back)}`"
    match window.edge:
        case "start":
            return f"write {at_start} under the output."
        case "end":
            return f"write {at_end} under the output."
        case None:
            return f"write {at_start} if `time_column` holds a window's start, {at_end} if it holds its end."


def _unfit_session(window: WindowCall, output: IntervalsOutput) -> Iterator[Misfit]:
    if window.edge == "start":
        message = f"a session belongs to the {output.interval} in which it ends, and `time_column` is its start."
        yield window, message, "return `session_window.end` as the time column, and the start as `since_column`."
        return
    missing = [key for key in ("lookback", "since_column") if not getattr(output, key)]
    if missing:
        names = " and ".join(f"`{key}`" for key in missing)
        message = f"session_window makes windows without fixed bounds, and the spec declares no {names}."
        advice = "write `lookback: <how long most sessions are>` and `since_column: <the column with their start>`"
        yield window, message, f"{advice} under the output; `time_column` is their end."
    elif window.gap is not None and output.lookback < 2 * window.gap:
        least = format_duration(2 * window.gap)
        message = (
            f"its sessions end after a gap of {format_duration(window.gap)}, and the spec declares a `lookback` of "
            f"{format_duration(output.lookback)}: whether a session began before could not be seen."
        )
        yield window, message, f"write `lookback: {least}`, or more."


def _other_lengths(windows: Sequence[WindowCall], output: IntervalsOutput) -> Iterator[Misfit]:
    lengths = {window.length for window in windows if not window.session}
    # Of several windows, the last one makes the rows.
    if None in lengths or not lengths or output.window is None or output.window in lengths:
        return
    declared = format_duration(output.window)
    actual = " and ".join(sorted(format_duration(length) for length in lengths if length is not None))
    first = next(window for window in windows if not window.session)
    message = f"its windows are {actual} long, and the spec declares {declared}."
    yield first, message, f"write `window: {actual}` under the output, or make windows of {declared}."
