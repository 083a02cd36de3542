"""How an output is at one moment, as a pure function of what is on record of its stream and of the open incidents."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from sluice.alerts.incidents import Key
from sluice.objectives.log import Minute
from sluice.specs.catalog.dag_ids import backfill_dag_id, quality_dag_id
from sluice.specs.catalog.objectives import DeclaredObjective
from sluice.specs.model.alerting import AlertClass
from sluice.specs.model.deadlines import LEAST, StreamDeadlines
from sluice.streams.health.fleet import StreamStatus
from sluice.streams.health.health import Health
from sluice.streams.health.verdict import Verdict


def minute_of(declared: DeclaredObjective, status: StreamStatus, incidents: Collection[Key], now: datetime) -> Minute:
    """Return how an output is.

    What is proven to be bad is bad, also where the rest is not known.

    Args:
        declared: its objective.
        status: of the stream that fills it.
        incidents: subject and class of every open one.
        now: the present (UTC).
    """
    if not status.should_run or status.verdict.health is Health.SCHEDULED:
        return Minute.UNWANTED
    counts = declared.objective.counts
    if counts != "fresh" and (status.has_lost or not _correct(declared, status.verdict, incidents)):
        return Minute.INCORRECT
    fresh = True if counts == "correct" else _fresh(declared.limits, status, now)
    if fresh is False:
        return Minute.STALE
    # Without a watcher nobody sees whether the stream's position has moved.
    return Minute.UNKNOWN if fresh is None or status.verdict.health is Health.UNKNOWN else Minute.GOOD


def _correct(declared: DeclaredObjective, verdict: Verdict, incidents: Collection[Key]) -> bool:
    lost = verdict.health is Health.LOSS_RISK and not verdict.loss_seconds
    if lost or verdict.health is Health.REWOUND:
        return False
    quality, backfill = (f"DAG {dag_id(declared.pipeline)}" for dag_id in (quality_dag_id, backfill_dag_id))
    # Rows that a backfill's gate refuses were not published.
    found = ((quality, AlertClass.GATE), (quality, AlertClass.PARITY), (backfill, AlertClass.PARITY))
    return not any(each in incidents for each in found)


def _fresh(limits: StreamDeadlines, status: StreamStatus, now: datetime) -> bool | None:
    """Return whether nothing waits longer than the limits say; None if it is not known.

    A driver that does not run counts nothing: its output is fresh for as long after its last commit as a record might
    wait, and then it is not. So a restart costs nothing, and a start that fails again and again does.
    """
    verdict = status.verdict
    patience = min((limit for limit in (limits.lag, limits.age) if limit is not None), default=LEAST)
    if verdict.health is Health.STOPPED:
        last = status.last_at_work or status.changed_at
        return None if last is None else now - last <= patience
    if verdict.health is Health.UNKNOWN:
        return None
    due_since = None if verdict.settling is None else verdict.settling.due_since
    if due_since is not None and limits.age is not None and now - due_since > limits.age:
        return False
    return _read_in_time(limits, verdict, now)


def _read_in_time(limits: StreamDeadlines, verdict: Verdict, now: datetime) -> bool | None:
    records, seconds = verdict.lag_records, verdict.lag_seconds
    if records is None:
        return None
    if records == 0:
        return True
    if limits.lag_records is not None and records > limits.lag_records:
        return False
    if limits.lag is None and limits.age is None:
        return True
    if seconds is None:
        return None
    waits = timedelta(seconds=seconds)
    quiet = waits if verdict.committed_at is None else min(waits, now - verdict.committed_at)
    late = (limits.lag is not None and waits > limits.lag) or (limits.age is not None and quiet > limits.age)
    return not late
