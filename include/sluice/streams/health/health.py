"""The health of a stream in one word."""

from __future__ import annotations

from sluice.wording import ExplainedEnum


class Health(ExplainedEnum):
    """The verdict's word."""

    OK = "OK", "the stream keeps up: batches are committed, and unread records are recent"
    IDLE = "IDLE", "nothing is unread, and nothing has been for ten minutes; its spec may let its driver end meanwhile"
    SCHEDULED = "SCHEDULED", "no driver runs, as planned: the schedule of its spec starts the next one"
    STARTING = (
        "STARTING",
        "records are waiting, and the driver is alive but has not committed a batch yet, or is about to be started",
        "wait: Spark needs a minute, the first batch longer; STALLED after ten minutes (three, once its pace is known)",
    )
    LAGGING = (
        "LAGGING",
        "the stream works, but records arrive faster than it reads them, or catching up takes long",
        "find out which phase of a batch takes the time; give it more cores, or a driver of its own",
    )
    STALLED = (
        "STALLED",
        "records or due intervals are waiting and the driver is alive, but nothing is committed or settled",
        "see what delays it, or read its log; `sluice streams restart` repeats the batch and writes nothing twice",
    )
    STOPPED = "STOPPED", "no driver is running", "the verdict names the request to stop it, or what happens next"
    REWOUND = (
        "REWOUND",
        "the stream's position has moved, or belongs to another topic",
        "find out whether a checkpoint was restored or the topic re-created; `sluice streams reset` begins a new epoch",
    )
    LOSS_RISK = (
        "LOSS_RISK",
        "retention is about to delete unread records, or has already deleted some",
        "raise the retention now, then find out why the stream is behind",
    )
    UNKNOWN = (
        "UNKNOWN",
        "the stream could not be observed, so there is no verdict",
        "the verdict names what did not answer",
    )


WELL = frozenset({Health.OK, Health.IDLE, Health.SCHEDULED})
"""Verdicts on a stream that is known to work, or to rest as planned."""
FINE = WELL | {Health.STARTING}
"""Verdicts that need no action."""


def same_health(one: Health, other: Health) -> bool:
    """Whether one verdict goes on as the other: a stream that is at times OK and at times rests is well."""
    return one is other or {one, other} <= WELL
