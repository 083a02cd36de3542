"""What a run of a backfill DAG asks for: read from its form, or from the partition that it runs for.

Three ways lead here: the schedule and Airflow's own backfill give the run a partition (a day), a person or a program
gives it `from` and `to`. Nothing here knows Airflow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

from sluice.errors import SluiceError, SpecError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.acceptance import accepting
from sluice.intervals.backfill.backfills import Backfill
from sluice.intervals.backfill.request import Mode, Only, Request, StaticChoice, range_of
from sluice.intervals.backfill.selection import Selection
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import DAY
from sluice.wording import counted

PARTITION_FORMAT = "%Y-%m-%d"
"""How a run's partition is written: the day, in UTC."""

MAX_RANGES = 20
"""Ranges in what goes through XCom."""

Choice = TypeVar("Choice", bound=StrEnum)

_STARTERS = {"scheduled": "the schedule", "backfill": "a backfill of Airflow's"}


@dataclass(frozen=True)
class Run:
    """What is known of a run.

    Attributes:
        dag_id: its DAG.
        run_id: its name; clearing keeps it.
        kind: Airflow's run type, such as `scheduled`, `backfill` or `manual`.
        user: who triggered it; None if no user did.
        partition: the day that it runs for, or None.
    """

    dag_id: str
    run_id: str
    kind: str = "manual"
    user: str | None = None
    partition: str | None = None

    @property
    def by(self) -> str:
        """Who asks, for the record."""
        return f"{self.user or _STARTERS.get(self.kind, 'Airflow')} (Airflow run {self.run_id})"

    @property
    def key(self) -> str:
        """Name the asking: the same for every try and every clearing of a run, so that each resumes the first."""
        return "/".join(part for part in (self.dag_id, self.run_id, self.partition) if part)


def request_of(pipeline: PipelineSpec, form: Mapping[str, Any], run: Run, accepted: Backfill | None = None) -> Request:
    """Return what a run asks for by its params, `form`. If they accept a backfill, its request is made again.

    Raises:
        SpecError: with every fault of the form.
        RefusedError: no gate has stopped `accepted`.
    """
    faults: list[str] = []
    if accepted is not None:
        return _accepting(pipeline, form, run, accepted)
    mode = _choice(Mode, "mode", form.get("mode") or pipeline.backfill.mode, faults)
    only = _choice(Only, "only", form.get("only") or Only.ALL, faults)
    if mode not in (None, Mode.RECOMPUTE) and only not in (None, Only.ALL):
        faults.append(f"`only: {only}` needs `mode: recompute`; the mode is {mode}")
    static = _choice(StaticChoice, "static", form.get("static") or StaticChoice.RECORDED, faults)
    if mode not in (None, Mode.RECOMPUTE) and static is StaticChoice.NEWEST:
        faults.append(f"`static: newest` needs `mode: recompute`; the mode is {mode}")
    asked = _range(form, run.partition, pipeline.intervals.interval_length, faults)
    if faults or asked is None or mode is None or only is None or static is None:
        raise SpecError(
            f"what run {run.run_id} of {run.dag_id} requests is not valid:\n- " + "\n- ".join(faults),
            fix="trigger it again with these repaired.",
        )
    return Request(pipeline.name, asked, mode, run.by, str(form.get("reason") or ""), only, static=static)


def _accepting(pipeline: PipelineSpec, form: Mapping[str, Any], run: Run, accepted: Backfill) -> Request:
    if accepted.request.pipeline != pipeline.name:
        raise SpecError(
            f"the backfill {accepted.id} is one of {accepted.request.pipeline}, not of {pipeline.name}.",
            fix=f"trigger the DAG of {accepted.request.pipeline}.",
        )
    if given := [name for name in ("from", "to") if form.get(name)]:
        raise SpecError(
            f"the form names {' and '.join(map(repr, given))} and accepts {accepted.id}, whose range is taken again.",
            fix="leave these out.",
        )
    return accepting(accepted, run.by, str(form.get("reason") or ""))


def nothing_to_do(selection: Selection) -> str:
    """Say why nothing of a request is taken."""
    return f"nothing of {range_text(selection.request.range)} can be backfilled: {'; '.join(left(selection))}"


def nothing_closed(selection: Selection) -> bool:
    """Whether every interval of a request is still open: there will be something to do later."""
    return not selection.taken and all(why.startswith("open") for why in selection.left.values())


def left(selection: Selection) -> list[str]:
    """Return the reasons for which intervals are left out, with their numbers."""
    return [f"{counted(count, 'interval')}: {why}" for why, count in Counter(selection.left.values()).most_common()]


def plan(selection: Selection, key: str, chunk: timedelta) -> dict[str, Any]:
    """Return a selection as JSON values, small enough for XCom whatever its size."""
    asked = selection.request
    return {
        "from": asked.range.start.isoformat(),
        "to": asked.range.end.isoformat(),
        "mode": asked.mode.value,
        "only": asked.only.value,
        "by": asked.by,
        "why": asked.why,
        "accepts": asked.accepts,
        "static": asked.static.value,
        "key": key,
        "intervals": len(selection.taken),
        "ranges": [range_text(piece) for piece in selection.ranges[:MAX_RANGES]],
        "chunks": sum(1 for _ in selection.chunks(chunk)),
        "left": left(selection)[:MAX_RANGES],
    }


def range_text(interval: Interval) -> str:
    """Return a range for people."""
    return f"{interval.start:%FT%RZ} to {interval.end:%FT%RZ}"


def instant(text: str, *, through: bool = False) -> datetime:
    """Read a date (midnight UTC, or `through` its end) or a date-time with its offset.

    Raises:
        ValueError: it is neither.
        OverflowError: the calendar ends before.
    """
    moment = datetime.fromisoformat(text)
    if len(text) != len("2013-01-01"):
        return moment
    return moment.replace(tzinfo=UTC) + (DAY if through else timedelta())


def _choice(kind: type[Choice], name: str, value: str, faults: list[str]) -> Choice | None:
    try:
        return kind(value)
    except ValueError:
        faults.append(f"`{name}` is {value!r}; it is one of {', '.join(kind)}")
        return None


def _range(form: Mapping[str, Any], partition: str | None, length: timedelta, faults: list[str]) -> Interval | None:
    given = {name: form[name] for name in ("from", "to") if form.get(name)}
    if partition is not None:
        if given:
            faults.append(
                f"it runs for the partition {partition} and also names {' and '.join(map(repr, given))}: "
                "leave these out, or trigger it without a partition"
            )
            return None
        try:
            day = datetime.strptime(partition, PARTITION_FORMAT).replace(tzinfo=UTC)
        except ValueError:
            faults.append(f"its partition is {partition!r}, which is no day such as 2013-01-01")
            return None
        return Interval(day, day + DAY)
    missing = [name for name in ("from", "to") if name not in given]
    faults.extend(f"`{name}` is missing: write a date or a date-time, such as 2013-01-01" for name in missing)
    bounds = {name: _instant(name, str(text), faults) for name, text in given.items()}
    start, end = bounds.get("from"), bounds.get("to")
    if start is None or end is None:
        return None
    try:
        return range_of(start, end, length)
    except SluiceError as error:
        faults.append(str(error))
        return None


def _instant(name: str, text: str, faults: list[str]) -> datetime | None:
    try:
        return instant(text, through=name == "to")
    except (ValueError, OverflowError):  # the day after the last day of the calendar
        faults.append(f"`{name}` is {text!r}: write a date or a date-time with its offset, such as 2013-01-01T06:00Z")
        return None
