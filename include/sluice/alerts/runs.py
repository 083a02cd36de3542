"""Runs of DAGs that fail: when a later success ends an alert, and which failures no alert reported.

Airflow reports a failure by a callback, which dies with the process that runs it: a killed task, a lost DAG processor.
So each minute the runs of a DAG are counted, and a count that differs from the last one is recorded. Two counts and the
alerts between them show how many failures were not reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from pydantic import AwareDatetime

from sluice.alerts.json_record import JsonRecord

if TYPE_CHECKING:
    from sluice.alerts.alert import Alert

GRACE = timedelta(minutes=5)
"""How long the callback of a failed run may take. After that the run counts as unreported."""


@dataclass(frozen=True)
class RunCount(JsonRecord):
    """How many runs of a DAG had ended, at a time.

    Attributes:
        dag_id: the DAG.
        at: when they were counted (UTC).
        succeeded: how many had succeeded; None: not counted.
        failed: how many had failed; None: not counted.
        accounted: how many runs that alerts name are among those.
        unnamed: the id of the newest alert that names no run, and so covers all that had failed; empty: none does.
        open_alerts: the ids of the newest alert of each incident about the DAG's runs that was open by then.
        unexplained_since: since when more have failed than alerts account for (UTC); the other figures are older then.
            None if that is not so.
    """

    dag_id: str
    at: AwareDatetime
    succeeded: int | None = None
    failed: int | None = None
    accounted: int = 0
    unnamed: str = ""
    open_alerts: tuple[str, ...] = ()
    unexplained_since: AwareDatetime | None = None


@dataclass(frozen=True)
class Review:
    """The result of counting a DAG's runs.

    Attributes:
        record: the count to record; None if it says nothing new. Where runs are unreported, it is recorded after the
            alert about them, which becomes its `unnamed`.
        unreported: how many runs have failed without an alert on record.
    """

    record: RunCount | None
    unreported: int = 0


def review(counts: Sequence[RunCount], alerts: Sequence[Alert], now: RunCount) -> Review:
    """Compare a new count with what is on record.

    An alert may come before or after the run that it names is counted as failed. So a run that is named and not counted
    yet is a credit, which the next one to be counted uses up.

    Args:
        counts: those on record of the same DAG, oldest first.
        alerts: those on record about runs of the same DAG, oldest first, without ends.
        now: the new count; what alerts say of it is added here.
    """
    named = {(alert.run_id, alert.clearing): alert.at for alert in alerts if alert.run_id}
    now = replace(now, unnamed=next((alert.id for alert in reversed(alerts) if not alert.run_id), ""))
    if not counts or (counts[-1].failed is None and now.failed is not None):
        return Review(replace(now, accounted=sum(1 for at in named.values() if abs(now.at - at) >= GRACE)))
    last = counts[-1]
    if now.failed is None:
        now = replace(now, failed=last.failed)
    if now.unnamed and now.unnamed != last.unnamed:
        return Review(replace(now, accounted=len(named)))
    before, grown = min(last.accounted, len(named)), max(0, (now.failed or 0) - (last.failed or 0))
    if (missing := grown - (len(named) - before)) > 0:
        if last.unexplained_since is None:
            return Review(replace(last, at=now.at, unexplained_since=now.at))
        waited = abs(now.at - last.unexplained_since)  # a clock may be set back meanwhile
        return Review(replace(now, accounted=len(named)), missing) if waited >= GRACE else Review(None)
    now = replace(now, accounted=before + grown)
    fewer = now.succeeded is not None and last.succeeded is not None and now.succeeded < last.succeeded
    same = replace(now, at=last.at, succeeded=last.succeeded) == last
    return Review(None if same and not fewer else now)


def successes_before(alert: Alert, counts: Sequence[RunCount]) -> int | None:
    """Return a number of successes that a success after an alert exceeds; None if none is known.

    The process that records a failure may be unable to count them. The counts that were made while the alert was the
    newest of its incident say it, too, and more: runs that were removed from Airflow's database no longer count.
    """
    counted = [count.succeeded for count in counts if alert.id in count.open_alerts]
    known = [succeeded for succeeded in counted if succeeded is not None]
    if alert.successes is not None:
        known.append(alert.successes)
    return min(known, default=None)
