"""The verdict on a stream whose driver has ended as its spec asks for: standing still as planned is not dead.

What is planned has bounds: a run that is due and does not begin, records that wait for longer than one pause of the
schedule explains, and records that come and start nothing are found.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sluice.streams.health.health import Health
from sluice.streams.life.status import Pause
from sluice.wording import span

MISSED_AFTER = timedelta(minutes=5)
"""A run that is due begins within seconds, and the reconciler makes up for one that does not after two minutes."""


def judge_pause(
    pause: Pause, unit: str, now: datetime, lag_records: int | None = None, lag_seconds: float | None = None
) -> tuple[Health, str, str]:
    """Return health, the reason in one sentence, and what to do.

    Args:
        pause: how the unit rests.
        unit: its name.
        now: the present (UTC).
        lag_records: how many records are unread; None: not known here.
        lag_seconds: for how long the first of them waits, at least; None if that is not known.
    """
    unread = (
        "" if not lag_records else f"{'1 record is' if lag_records == 1 else f'{lag_records} records are'} unread; "
    )
    if pause.until is None:
        return _until_records(pause, unit, now, unread, lag_seconds)
    missed = now - pause.until
    if missed >= MISSED_AFTER:
        why = (
            f"{unread}its run that was due at {_clock(pause.until)}, {span(missed.total_seconds())} ago, did not begin."
        )
        return Health.STOPPED, _upper(why), f"see whether Airflow runs and the DAG stream_{unit} is paused"
    if pause.longest is not None and lag_records and _unexplained(pause.longest, lag_seconds):
        why = (
            f"{unread}the first of them waits for {span(lag_seconds or 0.0)}, longer than one pause of its schedule "
            f"({span(pause.longest.total_seconds())}) explains."
        )
        return Health.LAGGING, _upper(why), f"see what the newest run has read: sluice streams logs {unit}"
    comes = f"due since {_clock(pause.until)}" if missed >= timedelta(0) else f"next at {_clock(pause.until)}"
    return Health.SCHEDULED, _upper(f"{unread}scheduled, {comes}; {pause.ended}."), ""


def _until_records(
    pause: Pause, unit: str, now: datetime, unread: str, lag_seconds: float | None
) -> tuple[Health, str, str]:
    """Judge a driver that has ended because nothing came, and is started again by what comes."""
    if not unread and not pause.unread:
        return Health.IDLE, _upper(f"{pause.ended}; the next driver starts when there are records."), ""
    said = unread or "records are unread; "
    if pause.not_before is not None and now < pause.not_before:
        return Health.STARTING, _upper(f"{said}the next driver starts at {_clock(pause.not_before, '%H:%M:%S')}."), ""
    since = None if pause.not_before is None else (now - pause.not_before).total_seconds()
    waits = min((each for each in (lag_seconds, since) if each is not None), default=0.0)
    if waits < MISSED_AFTER.total_seconds():
        return Health.STARTING, _upper(f"{said}the next driver is about to start."), ""
    why = f"{said}the driver ended because nothing came, and for {span(waits)} none was started for them."
    return Health.STOPPED, _upper(why), f"see whether Airflow's triggerer runs; sluice streams start {unit}"


def _unexplained(longest: timedelta, lag_seconds: float | None) -> bool:
    return lag_seconds is not None and lag_seconds > (longest + MISSED_AFTER).total_seconds()


def _clock(moment: datetime, form: str = "%Y-%m-%d %H:%M") -> str:
    return f"{moment:{form}} UTC"


def _upper(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}"
