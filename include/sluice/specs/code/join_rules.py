"""Whether the records of every source are read as far as a transform joins them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from sluice.specs.code.window_rules import reach_of
from sluice.specs.model.duration import format_duration
from sluice.specs.model.model import PipelineSpec
from sluice.specs.reading.reading import SpecMisfit

_NO_TIME = timedelta()


@dataclass(frozen=True)
class TimeJoin:
    """How far apart in time records of two sources are that one SELECT puts together.

    Attributes:
        first: the name of a source.
        second: that of another one.
        least: the event time of the first less that of the second is no less than this; None: no bound is seen.
        most: nor is it more than this; None: no bound is seen.
        line: in the file.
    """

    first: str
    second: str
    least: timedelta | None
    most: timedelta | None
    line: int = 0

    def most_before(self, name: str) -> timedelta | None:
        """Return how much earlier than the other one's the event of a source is at most; None: no bound is seen."""
        if name == self.second:
            return self.most
        return None if self.least is None else -self.least


@dataclass(frozen=True)
class TimeJoins:
    """All that reading finds of joins in time.

    Attributes:
        joins: in their order.
        row_times: columns of the result that hold the time of one source, or the beginning of a window over it, each
            with the source's name.
    """

    joins: tuple[TimeJoin, ...] = ()
    row_times: Mapping[str, str] = field(default_factory=dict)


def short_reaches(joins: TimeJoins, pipeline: PipelineSpec, file: str) -> Iterator[SpecMisfit]:
    """Yield where a source is not read as far as its records are joined with those of another one.

    Args:
        joins: of the transform.
        pipeline: with an interval table.
        file: of the transform, as faults show it.
    """
    place = joins.row_times.get(pipeline.intervals.time_column)
    told: set[tuple[str, ...]] = set()
    for join in joins.joins:
        if place is None:
            found = _short_somewhere(join, pipeline)
        elif place in (join.first, join.second):
            found = _short_of(join, place, pipeline)
        else:
            continue
        for where, message, fix in found:
            if (key := (*map(str, where), fix)) not in told:
                told.add(key)
                yield where, f"line {join.line} of {file}: {message}", fix


def _short_of(join: TimeJoin, place: str, pipeline: PipelineSpec) -> Iterator[SpecMisfit]:
    """A row lies in the interval of one source's record: the other's has to be read wherever it may lie then."""
    other = join.second if place == join.first else join.first
    back, ahead = reach_of(pipeline.every_source[other], pipeline.declared_intervals)
    for key, side, needed, declared in (
        ("lookback", "before", join.most_before(other), back),
        ("lookahead", "after", join.most_before(place), ahead),
    ):
        if needed is not None and declared < needed:
            length = format_duration(needed)
            message = (
                f"a row has the time of {place!r} and is made of records of {other!r} up to {length} {side} it; "
                f"these are read with a `{key}` of {format_duration(declared)}."
            )
            yield ("sources", other, key), message, f"write `{key}: {length}` under sources.{other}, or more."


def _short_somewhere(join: TimeJoin, pipeline: PipelineSpec) -> Iterator[SpecMisfit]:
    """Wherever a row lies between two records or beyond them: both are read only if their reaches hold the distance."""
    reaches = {name: reach_of(source, pipeline.declared_intervals) for name, source in pipeline.every_source.items()}
    for early, late in ((join.second, join.first), (join.first, join.second)):
        needed = join.most_before(early)
        back, ahead = reaches[early][0], reaches[late][1]
        if needed is not None and back + ahead < needed:
            length = format_duration(needed)
            message = (
                f"records of {early!r} are joined with those of {late!r} up to {length} after them; the first are read "
                f"with a `lookback` of {format_duration(back)}, the others with a `lookahead` of "
                f"{format_duration(ahead)}, and no row could be made of both."
            )
            fix = (
                f"if `time_column` holds the time of {late!r}, write `lookback: {length}` under sources.{early}; if it "
                f"holds that of {early!r}, write `lookahead: {length}` under sources.{late}."
            )
            yield ("sources", early, "lookback"), message, fix
