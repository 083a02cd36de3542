"""Why a driver ended, in classes that differ in what helps: time, memory, a repair, or a person's decision.

The class is worked out where the whole exception is still there, in the driver, and travels twice: as its exit code,
which survives everything, and in its last words (`Failure`), which also say what was raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sluice.streams.failures.exits import ExitCode

FILE = "failure.json"
"""Where a driver leaves its last words, in the folder that its launcher keeps of it."""


class FailureClass(StrEnum):
    """What an end says about the next attempt."""

    STOPPED = "stopped"  # it ended as it was asked to: no failure at all
    FORCED = "forced"  # a person declared it dead
    KILLED = "killed"  # by a signal, together with its keeper, or its JVM beneath it
    TRANSIENT = "transient"  # broker or storage did not answer, or something was not ready: time helps
    DISK_FULL = "disk full"  # nothing is lost, and all goes on when there is room
    OUT_OF_MEMORY = "out of memory"
    CODE = "code"  # the transform, or Spark's analysis of it: the same input fails again
    WRONG_SPEC = "wrong spec"
    FENCED = "fenced"  # another driver owns the tables or the checkpoint
    DATA_LOSS = "data loss"  # records are gone that were never read
    CORRUPT = "corrupt"  # a checkpoint, state or ledger that contradicts itself
    INCOMPATIBLE_STATE = "incompatible state"  # what is kept does not fit the code
    AUTHORISATION = "authorisation"
    SCHEMA_DRIFT = "schema drift"  # so much of a batch is quarantined that its producer writes something else
    CONFIGURATION = "configuration"  # a variable that a spec names, such as a password's, is not set
    UNKNOWN = "unknown"  # none of these


EXIT_CODES: Mapping[FailureClass, ExitCode] = {
    FailureClass.STOPPED: ExitCode.STOPPED,
    FailureClass.KILLED: ExitCode.JVM_LOST,
    FailureClass.TRANSIENT: ExitCode.TRANSIENT,
    FailureClass.DISK_FULL: ExitCode.DISK_FULL,
    FailureClass.OUT_OF_MEMORY: ExitCode.OUT_OF_MEMORY,
    FailureClass.CODE: ExitCode.CODE,
    FailureClass.WRONG_SPEC: ExitCode.WRONG_SPEC,
    FailureClass.FENCED: ExitCode.FENCED,
    FailureClass.DATA_LOSS: ExitCode.DATA_LOSS,
    FailureClass.CORRUPT: ExitCode.CORRUPT,
    FailureClass.INCOMPATIBLE_STATE: ExitCode.INCOMPATIBLE_STATE,
    FailureClass.AUTHORISATION: ExitCode.AUTHORISATION,
    FailureClass.SCHEMA_DRIFT: ExitCode.SCHEMA_DRIFT,
    FailureClass.CONFIGURATION: ExitCode.CONFIGURATION,
    FailureClass.UNKNOWN: ExitCode.FAILED,
}
"""What a driver exits with. Nobody exits by force: that class is only ever recorded."""

_CLASSES = {int(code): kind for kind, code in EXIT_CODES.items()}

REMEDIES: Mapping[FailureClass, str] = {
    FailureClass.KILLED: "find out who kills it: the kernel's log names what it killed for memory",
    FailureClass.OUT_OF_MEMORY: "give it more memory (`resources` in the spec) or smaller batches",
    FailureClass.CODE: "mend the transform, or the input that it does not expect",
    FailureClass.WRONG_SPEC: "run `sluice check` and repair the specs",
    FailureClass.FENCED: "find the other driver, and see that only one of them is wanted",
    FailureClass.DATA_LOSS: "see which records are gone, and decide whether the stream may go on without them",
    FailureClass.CORRUPT: "put an older copy of its checkpoint back, or move it away (nothing is written twice)",
    FailureClass.INCOMPATIBLE_STATE: "go back to the code that wrote the state, or start from a new checkpoint",
    FailureClass.SCHEMA_DRIFT: "compare what the producer writes with the topic spec, and mend one of them",
    FailureClass.AUTHORISATION: "renew the credentials, or grant what it lacks",
    FailureClass.CONFIGURATION: "set the variable where its driver is started; for Airflow: where `sluice up` is run",
    FailureClass.UNKNOWN: "find the cause in the log",
}
"""What helps where no time does, as a clause."""


def class_of_exit(code: int | None) -> FailureClass:
    """Return the class that an exit code keeps; negative codes are signals, None is "no record"."""
    if code is None or code < 0:
        return FailureClass.KILLED
    return _CLASSES.get(code, FailureClass.UNKNOWN)


@dataclass(frozen=True)
class Failure:
    """A driver's last words. One that is killed leaves none.

    Attributes:
        kind: the class.
        error: what was raised: the exception's class, or Spark's name of the condition.
        message: its message in one line, without secrets.
        at: when (UTC).
        stream: in which stream; empty if in none, or before one had started.
        again_at: when (UTC) its driver, which goes on, starts it again; None: not by itself.
        details: all that was raised said, where that is too long for one line: a schema, a plan. Empty otherwise.
    """

    kind: FailureClass
    error: str
    message: str
    at: datetime
    stream: str = ""
    details: str = ""
    again_at: datetime | None = None

    def __str__(self) -> str:
        """Return it as one line."""
        said = f"{self.error}: {self.message}" if self.message else self.error
        return f"stream {self.stream}: {said}" if self.stream else said


def to_record(failure: Failure) -> dict[str, Any]:
    """Return what `from_record` reads, ready for JSON."""
    return {
        "class": failure.kind.value,
        "error": failure.error,
        "message": failure.message,
        "at": failure.at.isoformat(),
        "stream": failure.stream,
        "details": failure.details,
        "again_at": None if failure.again_at is None else failure.again_at.isoformat(),
    }


def from_record(record: object) -> Failure | None:
    """Return the last words, or None if the record is none: they explain a death and are never needed to prove one."""
    try:
        match record:
            case {"class": str(kind), "error": str(error), "message": str(message), "at": str(at), **more}:
                failed_in, details = str(more.get("stream", "")), str(more.get("details", ""))
                at_utc = datetime.fromisoformat(at)
                again = more.get("again_at")
                again_at = None if again is None else datetime.fromisoformat(str(again))
                if at_utc.tzinfo is not None:
                    return Failure(_kind(kind), error, message, at_utc, failed_in, details, again_at)
    except ValueError:
        return None
    return None


def _kind(word: str) -> FailureClass:
    """Return a class by its word; one of a newer version of Sluice is unknown here."""
    return FailureClass(word) if word in set(FailureClass) else FailureClass.UNKNOWN


def recorded_class(failure: FailureClass | None, exit_code: int | None) -> FailureClass:
    """Return the class of an end on record; an older record has only the exit code."""
    return class_of_exit(exit_code) if failure is None else failure
