"""What a driver leaves when it fails: the class in its exit code, and what was raised in a file beside its records.

The file is in the folder that the launcher keeps of the driver, where the process that records the death finds it.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from pathlib import Path

from sluice.clock import Clock, SystemClock
from sluice.errors import SluiceError
from sluice.observability.logs import get_logger
from sluice.spark.driver.causes import causes
from sluice.spark.driver.progress import replace_json
from sluice.streams.failures.classification import Thrown, classify
from sluice.streams.failures.exits import ExitCode
from sluice.streams.failures.failure import EXIT_CODES, FILE, Failure, to_record
from sluice.streams.life.preflight import NotStartableError

log = get_logger()

MAX_CHARACTERS = 400
SENTENCES_CHARACTERS = 200
_MAX_DETAILS = 20_000
_SENTENCES = re.compile(r".*[.!?](?= )")
_DECORATION = re.compile(r"^\[[A-Z][A-Z0-9_.]*\]\s*|\s*SQLSTATE: [0-9A-Z]{5}\b.*$", re.DOTALL)


class ExitReport:
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

    def write(self, error: BaseException, stream: str = "") -> ExitCode:
        """Log a failure, put it beside the driver's records, and return the exit code that keeps its class.

        Args:
            error: what was raised; its JVM must still be there.
            stream: in which stream; empty if in none.
        """
        if self.failure is None:
            self.failure = self.failure_of(error, stream)
            log.error("driver ends", failure=self.failure.kind.value, why=str(self.failure))
            for raised in error.exceptions if isinstance(error, NotStartableError) else (error,):
                if not isinstance(raised, SluiceError):
                    traceback.print_exception(raised)
            self._write(self.failure)
        return EXIT_CODES[self.failure.kind]

    def failure_of(self, error: BaseException, stream: str = "") -> Failure:
        """Return what is to be said of a failure; the arguments are those of `leave`."""
        kind, decisive = classify(causes(error))
        called, message, details = decisive.called, in_one_line(decisive), details_of(decisive)
        if isinstance(error, NotStartableError):
            stream = stream or error.stream
            if len(error.faults) > 1:
                called, message, details = _together(error)
        return Failure(kind, called, self._redact(message), self._clock.now(), stream, self._redact(details))

    def _write(self, failure: Failure) -> None:
        if self._folder is None:
            return
        try:
            replace_json(self._folder / FILE, to_record(failure))
        except OSError as error:  # a full disk may be the very failure; the exit code says the class all the same
            log.warning("the driver's failure report is not on disk", why=str(error))


def _together(error: NotStartableError) -> tuple[str, str, str]:
    """Return what several faults are called, each of them in one line, and what is beyond that."""
    faults = [(stream, classify(causes(fault))[1]) for stream, fault in error.faults]
    names, lines = {one.called for _, one in faults}, dict[str, list[str]]()
    for stream, one in faults:
        lines.setdefault(in_one_line(one), []).append(stream)
    called = names.pop() if len(names) == 1 else f"{len(faults)} faults"
    said = (f"{', '.join(filter(None, streams))}: {line}".removeprefix(": ") for line, streams in lines.items())
    details = (f"{stream}: {more}".removeprefix(": ") for stream, one in faults if (more := details_of(one)))
    return called, "; ".join(said), "\n".join(details)


def in_one_line(thrown: Thrown) -> str:
    """Return a message without the names that are said beside it, in one line of bounded length.

    What others raise has its first sentences here, and all of it among the details: Spark adds schemas and plans.
    """
    text = " ".join(_DECORATION.sub("", thrown.message).split())
    if not thrown.is_ours and len(text) > SENTENCES_CHARACTERS:
        sentences = _SENTENCES.match(text[:SENTENCES_CHARACTERS])
        text = text if sentences is None else sentences[0]
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…"


def details_of(thrown: Thrown) -> str:
    """Return all of a message that does not fit into one line; empty if it does."""
    text = _DECORATION.sub("", thrown.message).strip()
    return "" if " ".join(text.split()) == in_one_line(thrown) else text[:_MAX_DETAILS]
