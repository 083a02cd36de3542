"""The life of a driver: start the unit's streams, keep them going, stop them between batches when asked.

A stream that fails ends alone: the others go on, and what failed is on record, its verdict red. It is started again
within the driver by the rules for its class of failure. What concerns them all ends all: another generation, the end of
the JVM, its memory. When none is left, the driver ends with the failure of the last one.

A driver may end by itself, too: once it has read what was there, or once nothing has come for long enough. What comes
between that decision and its end is in no batch of it, and the next driver reads it from the checkpoint.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence

from sluice.clock import Clock, SystemClock
from sluice.errors import SluiceError
from sluice.failpoints import failpoint
from sluice.observability.logs import get_logger
from sluice.spark.driver.exit_report import ExitReport
from sluice.spark.driver.idleness import Idleness
from sluice.spark.driver.progress import ProgressFile
from sluice.spark.driver.stopping import StopRequest
from sluice.spark.driver.stream_run import Stream, StreamRun
from sluice.specs.model.schedule import ALL_THE_TIME, RunPlan
from sluice.streams.failures.exits import ExitCode
from sluice.streams.failures.failure import FailureClass
from sluice.streams.position.fencing import FencedError

log = get_logger()

_POLL_SECONDS = 0.25
_POLLS_AT_REST = 4
"""A check asks the JVM a dozen questions for each stream: most of what Python takes while there are no records."""
_DRAIN_SECONDS = 45.0
"""Well below what a stop waits until it kills, a minute by default: who is killed repeats a part of a batch."""
_WAIT_SECONDS = 2.0
"""Within it a batch that waits for another stream sees what that one has committed last."""
_OF_ALL = frozenset({FailureClass.FENCED, FailureClass.KILLED, FailureClass.OUT_OF_MEMORY})
"""What one stream meets and no other escapes."""


class Driver:
    """Runs the streams of one unit in this process, started in their order.

    Args:
        streams: which.
        progress: where each is told how it goes, by stream.
        stop: the request to stop.
        exit_report: where it is told why it fails.
        update: called often; returns whether anything can run a task.
        plan: when it is to run, and so when it ends by itself.
    """

    def __init__(
        self,
        streams: Sequence[Stream],
        progress: Mapping[str, ProgressFile],
        *,
        stop: StopRequest | None = None,
        exit_report: ExitReport | None = None,
        update: Callable[[], bool] = lambda: True,
        plan: RunPlan = ALL_THE_TIME,
    ) -> None:
        self._streams = streams
        self._update = update
        self._progress = progress
        self._exit_report = exit_report or ExitReport()
        self._stop = stop or StopRequest()
        self._plan = plan
        self._idleness = Idleness(plan.stop_when_idle)
        self._by_itself: ExitCode | None = None
        self._end_of_all: tuple[Exception, str] | None = None
        self._last_end: tuple[Exception, str] | None = None

    def run(self, *, available_now: bool = False, clock: Clock | None = None) -> ExitCode:
        """Start all streams and return when they have ended.

        Args:
            available_now: read what is there now, then end, whatever its plan says.
            clock: injected by tests.
        """
        clock, available_now = clock or SystemClock(), available_now or self._plan.bounded
        runs = [
            StreamRun(stream, self._progress.get(stream.name), available_now=available_now, clock=clock)
            for stream in self._streams
        ]
        for run in runs:
            run.start()
        while not self._stop.asked and self._goes_on(runs, available_now=available_now):
            self._pause(runs, clock)
            self._report(runs)
            if self._plan.stop_when_idle is not None and self._idle(runs, clock):
                self._by_itself = ExitCode.IDLE
                failpoint("after_idle_decision", runs[0].name)
                break
        else:
            self._by_itself = ExitCode.COMPLETED if self._plan.bounded else None
        self._drain(runs, clock)
        self._report(runs)
        return self._outcome(runs)

    def _idle(self, runs: Sequence[StreamRun], clock: Clock) -> bool:
        """Whether nothing has come for so long that it ends."""
        return self._idleness.over(all(run.idle for run in runs), clock.monotonic())

    def _pause(self, runs: Sequence[StreamRun], clock: Clock) -> None:
        """Wait until the streams are checked again: for longer at rest, where each check finds what the last one did.

        A stop, or a batch that raises, is seen without a check, and not waited for longer.
        """
        for _ in range(_POLLS_AT_REST if all(run.at_rest or run.failure for run in runs) else 1):
            clock.sleep(_POLL_SECONDS)
            if self._stop.asked or any(run.raised for run in runs):
                return

    def _report(self, runs: Sequence[StreamRun]) -> None:
        self._update()
        for run in runs:
            run.report()

    def _goes_on(self, runs: Sequence[StreamRun], *, available_now: bool) -> bool:
        """Deal with what has ended; return whether the driver has reason to go on.

        Bounded streams end one by one. An endless one that ends without a failure ends all.
        """
        for run in runs:
            run.start_again_if_due()
            if run.failed:
                self._deal_with(run)
            if self._end_of_all is not None:
                return False
        # What fails while another one is dealt with is dealt with in the next round.
        alive = [run.active or run.failed for run in runs if run.failure is None]
        return any(alive) and (available_now or all(alive))

    def _deal_with(self, run: StreamRun) -> None:
        """Let a stream end that has failed: alone, or with all others."""
        error = run.error
        assert error is not None  # noqa: S101 - it has failed
        words = self._exit_report.failure_of(error, run.name)
        if (fenced := self._fenced()) is not None or words.kind in _OF_ALL:
            self._end_of_all = fenced or (error, run.name)
            return
        if not isinstance(error, SluiceError):
            traceback.print_exception(error)
        run.end_alone(words)
        self._last_end = error, run.name

    def _drain(self, runs: Sequence[StreamRun], clock: Clock) -> None:
        """Let running batches finish, begin no other, then stop. What a stop interrupts is replayed at the next start.

        A batch that waits for another stream waits in vain once no other batch runs: that stream has stopped, too.
        """
        for run in runs:
            run.begin_no_other()
        begun = at_work = clock.monotonic()
        left = list(runs)
        while (left := [run for run in left if not run.finished()]) and self._update():
            now = clock.monotonic()
            if not all(run.stream.waits() for run in left):
                at_work = now
            if now >= min(begun + _DRAIN_SECONDS, at_work + _WAIT_SECONDS):
                break
            clock.sleep(0.05)
        for run in left:
            run.give_up()
        for run in left:
            run.interrupt()

    def _outcome(self, runs: Sequence[StreamRun]) -> ExitCode:
        late = next(((error, run.name) for run in runs if run.failed and (error := run.error) is not None), None)
        failure = self._end_of_all or late
        if failure is not None:
            return self._exit_report.write(*(self._fenced() or failure))
        # It rests only while every stream runs: each has got over what it failed by.
        if self._last_end is not None and not self._stop.asked and self._by_itself is not ExitCode.IDLE:
            return self._exit_report.write(*self._last_end)
        code = ExitCode.STOPPED if self._stop.asked or self._by_itself is None else self._by_itself
        log.info("driver ends", why=code.meaning)
        return code

    def _fenced(self) -> tuple[Exception, str] | None:
        """Return that a newer generation is here: whatever a fenced driver stumbles over, this is why it ends.

        Two drivers on one checkpoint race for its plans too, and there the newer one may lose to one that just woke up.
        """
        for stream in self._streams:
            try:
                stream.check_fence()
            except FencedError as fenced:
                return fenced, stream.name
            except Exception:  # what cannot be checked explains nothing
                log.warning("the fence could not be checked", stream=stream.name, exc_info=True)
        return None
