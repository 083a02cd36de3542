"""What happens to the stream meanwhile: kills of its driver, and backfills of what it has settled."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from benchmarks.backfill.recompute import surroundings
from benchmarks.soaking.place import PIPELINE, UNIT, Load
from benchmarks.trials import TrialError
from sluice.clock import SystemClock
from sluice.launch.processes import wait_until
from sluice.project.project import Project

_HOUR = timedelta(hours=1)
_BEHIND, _LENGTH = 8 * _HOUR, 4 * _HOUR
"""A backfill is about hours that are settled, and whose raw records are there: a day of them is."""
_MODES = ("verify", "recompute")
_DEATH_SECONDS, _STOP_SECONDS = 60.0, 90.0


class SoakedDriver:
    """The driver of the unit, under its keeper.

    Attributes:
        kills: how often it was killed.
        unplanned: how often it ended though nobody had killed it.
    """

    def __init__(self, project: Project) -> None:
        self._life = project.streams.life(UNIT)
        self.kills = 0
        self.unplanned = 0

    def start(self) -> None:
        """Start it as a person does, after which the governor counts from zero."""
        claim = self._life.start("benchmark", "soak")
        if claim.attempt is None:
            raise TrialError(f"The driver was not started: {claim.why}.")

    def living(self) -> tuple[int, int] | None:
        """Return its generation and its process; one that has died unasked is counted, and started again."""
        status = self._life.observe()
        if status.report is not None and status.report.dead:
            self.unplanned += 1
            print(f"generation {status.report.key} ended: {status.report.failure}", file=sys.stderr, flush=True)
            self.start()
            return None
        if not status.alive or status.attempt is None or status.report is None or status.report.pid is None:
            return None
        return status.attempt.generation, status.report.pid

    def kill(self) -> None:
        """Kill it as a lack of memory does, and start the next one when its death is seen."""
        if (found := self.living()) is None:
            return
        os.kill(found[1], signal.SIGKILL)
        self.kills += 1
        if not wait_until(self._is_dead, SystemClock(), deadline_seconds=_DEATH_SECONDS):
            raise TrialError(f"The driver {found[1]} was killed, and its keeper does not say so.")
        self.start()

    def _is_dead(self) -> bool:
        report = self._life.observe().report
        return report is not None and report.dead

    def stop(self) -> None:
        """Stop it for good."""
        self._life.stop("benchmark", "the soak is over", _STOP_SECONDS)


class Backfills:
    """Backfills of hours that were settled of late, one at a time, from the command line.

    Attributes:
        done: how many have ended well.
        failed: exit codes of the others, with what they said last.
    """

    def __init__(self, project: Project, log: Path) -> None:
        self._project = project
        self._log = log
        self._running: subprocess.Popen[bytes] | None = None
        self._count = 0
        self.done = 0
        self.failed: list[str] = []

    @property
    def at_work(self) -> bool:
        """Whether one runs; one that has ended is counted."""
        if self._running is None:
            return False
        if (code := self._running.poll()) is None:
            return True
        self._running = None
        if code:
            said = self._log.read_text(errors="replace").strip().splitlines()[-3:]
            self.failed.append(f"exit code {code}: {' '.join(said)}")
        else:
            self.done += 1
        return False

    def begin(self, load: Load) -> None:
        """Begin the next one: verifications and recomputations in turn."""
        until = load.now.replace(minute=0, second=0, microsecond=0) - _BEHIND
        span = ["--from", _text(until - _LENGTH), "--to", _text(until)]
        mode = _MODES[self._count % len(_MODES)]
        self._count += 1
        command = [sys.executable, "-m", "sluice.cli.main", "backfill", "run", PIPELINE, *span]
        with self._log.open("wb") as log:
            self._running = subprocess.Popen(
                [*command, "--mode", mode, "--why", "soak"],
                env=self._environment(),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def end(self, seconds: float) -> None:
        """Wait for the last one; one that takes too long is killed."""
        if self._running is not None:
            try:
                self._running.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(self._running.pid, signal.SIGKILL)
                self._running.wait()
        _ = self.at_work

    def _environment(self) -> Mapping[str, str]:
        settings = self._project.settings
        inherited = dict(os.environ)  # noqa: TID251  a child inherits all of it
        return {**inherited, **surroundings(settings.state, settings.home)}


class Timetable:
    """When something is due, by a seed: each time about the usual pause later.

    Args:
        pause: the usual one, in seconds.
        seed: gives the same times again.
    """

    def __init__(self, pause: float, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  nothing to keep secret
        self._pause = pause
        self._next = self._drawn()

    def due(self, at: float) -> bool:
        """Return whether it is time (seconds since the beginning); then the next time is drawn."""
        if at < self._next:
            return False
        self._next = at + self._drawn()
        return True

    def _drawn(self) -> float:
        return self._pause * self._random.uniform(0.75, 1.25)


def _text(at: object) -> str:
    return f"{at:%Y-%m-%dT%H:%MZ}"
