"""A rehearsal of a start: a driver that checks everything that it needs, changes nothing, and ends."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sluice.errors import NotReadyError
from sluice.launch.processes import DRIVER_MARK, carrying
from sluice.settings import inherited
from sluice.streams.failures.failure import FILE, Failure, class_of_exit, from_record
from sluice.streams.life.launcher import Job

_LOG = "rehearsal.log"


@dataclass(frozen=True)
class Rehearsal:
    """How a rehearsal ended.

    Attributes:
        exit_code: of its process; 0: a driver would start.
        failure: what stands against a start, as a driver would leave it; None if nothing does, or it was killed.
        log: its output.
    """

    exit_code: int
    failure: Failure | None
    log: Path

    @property
    def why(self) -> str:
        """Why a driver would not start now, and what to do, in one line; empty if it would."""
        if not self.exit_code:
            return ""
        if self.failure is None:
            return f"the rehearsal ended with exit code {self.exit_code} ({class_of_exit(self.exit_code)}); see its log"
        advice = self.failure.kind.what_to_do
        return f"{self.failure.kind}: {self.failure}" + (f" ({advice})" if advice else "")


def rehearse(job: Job, folder: Path) -> Rehearsal:
    """Run a rehearsal and wait for its end.

    Args:
        job: its process.
        folder: of its output; what an earlier one left there is replaced.

    Raises:
        NotReadyError: it cannot be started.
    """
    folder.mkdir(parents=True, exist_ok=True)
    last_words, log = folder / FILE, folder / _LOG
    last_words.unlink(missing_ok=True)
    try:
        with log.open("wb") as output:
            ended = subprocess.run(
                job.argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**inherited(job.inherits), **job.environment, **carrying(DRIVER_MARK, str(folder))},
                cwd=job.folder,
                start_new_session=True,
                check=False,
            )
    except OSError as error:
        raise NotReadyError(f"the rehearsal was not started: {error}.", fix="repeat it when that is mended.") from error
    return Rehearsal(ended.returncode, _failure(last_words), log)


def _failure(file: Path) -> Failure | None:
    try:
        return from_record(json.loads(file.read_bytes()))
    except (OSError, ValueError):
        return None
