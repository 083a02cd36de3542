"""The progress of a running backfill, and the handling of Ctrl-C."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.markup import escape
from rich.status import Status

from sluice.cli.terminal.output import err
from sluice.cli.terminal.user import requester
from sluice.clock import Clock
from sluice.errors import SluiceError
from sluice.intervals.backfill.backfills import Backfill, Backfills, BackfillState
from sluice.intervals.backfill.progress import progress_in_words
from sluice.launch.backfill_lock import BackfillLock
from sluice.launch.batch_process import BatchProcess, end_now

_SECONDS_BETWEEN_LINES = 60.0


class ProgressLine:
    """One line on stderr: rewritten on a terminal, else printed on each change and once a minute.

    The first Ctrl-C makes the backfill stop after its chunk, the second kills it.
    """

    def __init__(
        self,
        process: BatchProcess,
        backfills: Backfills,
        lock: Callable[[str], BackfillLock],
        clock: Clock,
    ) -> None:
        self._process = process
        self._backfills = backfills
        self._lock = lock
        self._clock = clock
        self._printed = ""
        self._printed_at = -math.inf
        self._stop_requested = False
        self._status = Status("starting Spark", console=err)

    def __enter__(self) -> Self:
        """Start the line, if stderr is a terminal."""
        if err.is_terminal:
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Stop updating the line."""
        self._status.stop()

    def progressed(self, backfill: Backfill) -> None:
        """Show the progress of the backfill; the follower calls it with each change."""
        stopping = ", stopping after this chunk" if backfill.cancel_requested_by else ""
        now = self._clock.monotonic()
        starved = self._process.starvation(claimed=backfill.state is BackfillState.RUNNING)
        progress = progress_in_words(backfill, self._clock.now())
        words = f"{backfill.id}: {progress}{stopping}{f'; {starved}' if starved else ''}"
        self._status.update(escape(words))
        state = f"{backfill.state} {backfill.done} {backfill.total}{stopping}"
        if not err.is_terminal and (state != self._printed or now - self._printed_at >= _SECONDS_BETWEEN_LINES):
            err.print(words, markup=False, soft_wrap=True)
            self._printed_at = now
        self._printed = state
        if backfill.state is BackfillState.CANCELLED and not self._lock(backfill.id).held():
            self._process.end()  # it was cancelled before it claimed its range

    def interrupted(self, backfill: Backfill | None) -> None:
        """Request a stop; the second time, kill the process."""
        try:
            if backfill is None or not self._lock(backfill.id).held():  # it has not claimed its range
                if backfill is not None and backfill.state is BackfillState.SUBMITTED:
                    self._backfills.ask_cancel(backfill.id, requester())
                self._process.end()
            elif self._stop_requested:
                end_now(self._backfills, self._lock(backfill.id), backfill.id, requester())
            else:
                self._backfills.ask_cancel(backfill.id, requester())
                err.print("It stops after the current chunk. Press Ctrl-C again to kill it.", markup=False)
        except SluiceError as error:  # it continues, and so does this line
            err.print(f"sluice: {error}", style="red", markup=False, soft_wrap=True)
        self._stop_requested = True
