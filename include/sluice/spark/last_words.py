"""What a driver leaves when it fails: the class in its exit code, and what was raised in a file beside its records.

The file is in the folder that the launcher keeps of the driver, so that whoever records the death finds it there.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from pathlib import Path

import structlog

from sluice.clock import Clock, SystemClock
from sluice.errors import SluiceError
from sluice.spark.causes import causes
from sluice.spark.progress import replace_json
from sluice.streams.classification import Thrown, classify
from sluice.streams.exits import ExitCode
from sluice.streams.failure import EXIT_CODES, FILE, Failure, to_record

log = structlog.get_logger()

MOST_CHARACTERS = 400
_DECORATION = re.compile(r"^\[[A-Z][A-Z0-9_.]*\]\s*|\s*SQLSTATE: [0-9A-Z]{5}\b.*$", re.DOTALL)


class LastWords:
    """Says why this driver fails: the first failure counts, whatever else falls over it.

    Args:
        folder: what the launcher keeps of this driver; None if no launcher started it.
        redact: hides secrets: exceptions quote URLs and settings.
        clock: gives the time.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        redact: Callable[[str], str] = lambda text: text,
        clock: Clock | None = None,
    ) -> None:
        self._folder = folder
        self._redact = redact
        self._clock = clock or SystemClock()
        self.failure: Failure | None = None

    def leave(self, error: BaseException, stream: str = "") -> ExitCode:
        """Log a failure, put it beside the driver's records, and return the exit code that keeps its class.

        Args:
            error: what was raised; its JVM must still be there.
            stream: in which stream; empty if in none.
        """
        if self.failure is None:
            self.failure = self.words(error, stream)
            log.error("driver ends", failure=self.failure.kind.value, why=str(self.failure))
            if not isinstance(error, SluiceError):
                traceback.print_exception(error)
            self._write(self.failure)
        return EXIT_CODES[self.failure.kind]

    def words(self, error: BaseException, stream: str = "") -> Failure:
        """Return what is to be said of a failure; the arguments are those of `leave`."""
        kind, telling = classify(causes(error))
        return Failure(kind, telling.called, self._redact(in_one_line(telling)), self._clock.now(), stream)

    def _write(self, failure: Failure) -> None:
        if self._folder is None:
            return
        try:
            replace_json(self._folder / FILE, to_record(failure))
        except OSError as error:  # a full disk may be the very failure; the exit code says the class all the same
            log.warning("the driver's last words are not on disk", why=str(error))


def in_one_line(thrown: Thrown) -> str:
    """Return a message without the names that are said beside it, in one line of bounded length."""
    text = " ".join(_DECORATION.sub("", thrown.message).split())
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"
