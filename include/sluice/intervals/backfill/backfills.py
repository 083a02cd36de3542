"""The port to the record of backfills: who works on which range, how far it is, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from sluice.errors import RefusedError
from sluice.intervals.backfill.request import Request
from sluice.wording import ExplainedEnum


class BackfillState(ExplainedEnum):
    """Where a backfill is."""

    SUBMITTED = (
        "submitted",
        "requested; its process has not claimed its range yet, because Spark is starting",
        "wait; if it lasts, the machine is busy: `SLUICE_BATCH_NICENESS=0` gives a batch its share",
    )
    RUNNING = "running", "its process is working on its range", "`sluice backfill status` shows the progress"
    DONE = "done", "it finished, and found nothing wrong"
    FAILED = (
        "failed",
        "it found a fault, or was interrupted",
        "read its report; running it again with the same key resumes it",
    )
    CANCELLED = (
        "cancelled",
        "a user stopped it; what it had published stays",
        "running it again with the same key resumes it",
    )


OPEN = (BackfillState.SUBMITTED, BackfillState.RUNNING)
"""States of a backfill that has not ended."""


@dataclass(frozen=True)
class Backfill:
    """A backfill on record.

    Attributes:
        id: names it in the ledger, in folders and to people.
        key: names the asking: the same key claimed again is the same backfill, resumed.
        request: what was asked.
        state: where it is.
        claimed_at: when its process took it, last; until then, when it was submitted (UTC).
        ended_at: when it ended (UTC), or None.
        done: intervals that are finished.
        total: intervals that it takes; 0 until that is known.
        outcome: what it found, in one word; empty until it ended.
        why: how it ended, in one sentence.
        cancel_requested_by: who wants it to stop; empty if no user does.
        advanced_at: when progress was last recorded (UTC), or None.
        done_before: intervals that were finished when its process took it.
    """

    id: str
    key: str
    request: Request
    state: BackfillState
    claimed_at: datetime
    ended_at: datetime | None = None
    done: int = 0
    total: int = 0
    outcome: str = ""
    why: str = ""
    cancel_requested_by: str = ""
    advanced_at: datetime | None = None
    done_before: int = 0


class OverlapError(RefusedError):
    """Another backfill works on a part of the range."""


class Backfills(Protocol):
    """Implemented in SQL, and in memory by a twin that passes the same tests."""

    def submit(self, request: Request, key: str, *, alive: Callable[[str], bool]) -> Backfill:
        """Put a backfill on record as SUBMITTED, before its process starts; one that has this key is taken up again.

        It keeps no other backfill off its range: only a claim does. One that is RUNNING and alive is left as it is.

        Args:
            request: what is asked.
            key: names the asking.
            alive: whether the process of a backfill lives, by its id.

        Raises:
            RefusedError: the key was claimed for another request.
        """
        ...

    def claim(
        self,
        request: Request,
        key: str,
        *,
        alive: Callable[[str], bool],
        hold: Callable[[str], object] = lambda _: None,
        submitted: bool = False,
    ) -> Backfill:
        """Put a backfill on record as RUNNING, or take up the one that has this key (its progress starts again).

        A RUNNING one of the same pipeline whose range overlaps is in the way while `alive(its id)`; otherwise its
        process is proven dead, and it is ended as FAILED with that reason. Atomic: of two claims at once one wins.

        Args:
            request: what is asked; taken up again, who asks and why may differ.
            key: names the asking.
            alive: whether the process of a backfill lives, by its id.
            hold: makes `alive` true for the id that this claim gets. It is called before another process can see the
                claim (otherwise this process would look dead for a moment); if it raises, nothing is claimed.
            submitted: it was submitted before; if it has ended since, a user does not want it any more.

        Raises:
            OverlapError: names the other's id, who asked for it, its range, and what to do.
            RefusedError: the key was claimed for another request, or its process is alive; or it has ended since it was
                submitted.
        """
        ...

    def advance(self, backfill_id: str, *, done: int, total: int) -> None:
        """Record progress. The first report after a claim says what was finished before.

        Raises:
            RefusedError: it is not RUNNING: another process ended it, and its range may be another's by now.
            CorruptionError: there is no such backfill.
        """
        ...

    def end(self, backfill_id: str, state: BackfillState, *, outcome: str, why: str) -> Backfill:
        """Record the end; repeating it keeps the first record. It can be claimed again under its key.

        Raises:
            CorruptionError: there is no such backfill.
        """
        ...

    def ask_cancel(self, backfill_id: str, by: str) -> Backfill:
        """Record that a user wants it to stop; it stops between two chunks. What has not begun is CANCELLED at once.

        Raises:
            SpecError: there is no such backfill.
            RefusedError: it has ended.
        """
        ...

    def get(self, backfill_id: str) -> Backfill:
        """Return one.

        Raises:
            SpecError: there is none; the message names recent ones.
        """
        ...

    def find(self, key: str) -> Backfill | None:
        """Return the one that was claimed under a key, or None if none was."""
        ...

    def running(self, pipeline: str | None = None) -> Sequence[Backfill]:
        """Return all that are on record as RUNNING (a pipeline's, if one is named), oldest first.

        However many came after them.
        """
        ...

    def recent(self, pipeline: str | None = None, *, limit: int = 50) -> Sequence[Backfill]:
        """Return backfills, newest first."""
        ...
