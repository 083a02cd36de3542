"""The rule for who may work on a range, as a pure function of what is on record.

Invariants:
* two backfills of one pipeline never work on a common interval at once;
* only proof of death takes a range from its backfill, never the passing of time;
* the same key is the same backfill, so a repeated request resumes it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime

from sluice.errors import RefusedError, SpecError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.backfills import OPEN, Backfill, BackfillState, OverlapError
from sluice.intervals.backfill.request import Request

DIED = "its process ended without a message"
"""Why a backfill is FAILED that another process found dead."""

_ID_DIGITS = (4, 16, 64)
_ENDS = {
    BackfillState.SUBMITTED: "has not begun",
    BackfillState.RUNNING: "runs",
    BackfillState.DONE: "was done",
    BackfillState.FAILED: "failed",
    BackfillState.CANCELLED: "was cancelled",
}


def dead_in_the_way(
    request: Request, own: Backfill | None, running: Iterable[Backfill], alive: Callable[[str], bool]
) -> list[Backfill]:
    """Return the RUNNING backfills in the way that are proven dead; they are to be ended first.

    Args:
        request: what is asked.
        own: the backfill that has its key, if there is one.
        running: the RUNNING backfills of the pipeline.
        alive: whether a backfill's process lives, by id.

    Raises:
        OverlapError: one in the way lives.
        RefusedError: the key was claimed for another request, or its process lives.
    """
    if own is not None:
        _refuse_other_request(request, own)
        if own.state is BackfillState.RUNNING and alive(own.id):
            raise RefusedError(
                f"the backfill {own.id} of {_words(own)} is running; this is the same request (key {own.key!r}).",
                fix=f"see `sluice backfill status {own.id}`; to request another one, use another key.",
            )
    in_the_way = [
        other
        for other in running
        if other.request.pipeline == request.pipeline
        and (own is None or other.id != own.id)
        and overlap(other.request.range, request.range)
    ]
    living = next((other for other in in_the_way if alive(other.id)), None)
    if living is not None:
        raise overlap_error(living)
    return in_the_way


def withdrawn(by: str) -> str:
    """Return why a backfill is CANCELLED that a user stopped before its process began."""
    return f"cancelled by {by} before it began"


def goes_on_running(request: Request, own: Backfill | None, alive: Callable[[str], bool]) -> bool:
    """Return whether a submission leaves the backfill that has its key as it is, because its process lives.

    Raises:
        RefusedError: the key was claimed for another request.
    """
    if own is None:
        return False
    _refuse_other_request(request, own)
    return own.state is BackfillState.RUNNING and alive(own.id)


def refuse_withdrawn(own: Backfill | None) -> None:
    """Refuse the claim of a process that was submitted, if its backfill has ended since.

    Raises:
        RefusedError: it has.
    """
    if own is not None and own.state not in OPEN:
        raise not_running(own)


def overlap(one: Interval, other: Interval) -> bool:
    """Whether two ranges have an instant in common."""
    return one.start < other.end and other.start < one.end


def overlap_error(other: Backfill) -> OverlapError:
    """Return the refusal that names the backfill in the way, and what to do about it."""
    return OverlapError(
        f"the backfill {other.id} works on {_words(other)}; {other.request.by} requested it at "
        f"{other.claimed_at:%FT%TZ}. Two backfills never work on one interval.",
        fix=f"wait for it (`sluice backfill status {other.id}`) or end it (`sluice backfill cancel {other.id}`).",
    )


def backfill_id(pipeline: str, at: datetime, key: str, taken: Callable[[str], bool]) -> str:
    """Return a new id: `<pipeline>-<UTC yyyymmddThhmmss>-<digits of the key's sha256>`.

    Args:
        pipeline: its name.
        at: when it is claimed.
        key: names the asking.
        taken: whether an id is on record already; then it gets more digits.
    """
    digest = hashlib.sha256(key.encode()).hexdigest()
    ids = (f"{pipeline}-{at.astimezone(UTC):%Y%m%dT%H%M%S}-{digest[:digits]}" for digits in _ID_DIGITS)
    return next(found for found in ids if not taken(found))


def _refuse_other_request(request: Request, own: Backfill) -> None:
    asked = own.request
    if replace(asked, by=request.by, why=request.why) != request:
        raise RefusedError(
            f"the key {own.key!r} names the backfill {own.id} of {_words(own)}; this is another request.",
            fix="use another key.",
        )


def _words(backfill: Backfill) -> str:
    asked = backfill.request
    only = "" if asked.only == "all" else f", only {asked.only}"
    return f"{asked.pipeline} from {asked.range.start:%FT%RZ} to {asked.range.end:%FT%RZ} ({asked.mode}{only})"


def not_running(found: Backfill) -> RefusedError:
    """Return the refusal to act on a backfill that has ended."""
    ended = "" if found.ended_at is None else f" at {found.ended_at:%FT%TZ}"
    why = f" ({found.why})" if found.why else ""
    return RefusedError(f"the backfill {found.id} is not running: it {_ENDS[found.state]}{ended}{why}.")


def no_such_backfill(name: str, recent: Iterable[Backfill]) -> SpecError:
    """Return the refusal of an id that is not on record, with a few that are."""
    names = ", ".join(found.id for found in recent)
    return SpecError(
        f"there is no backfill {name!r}; the newest are {names or 'none'}.", fix="see `sluice backfill list`."
    )
