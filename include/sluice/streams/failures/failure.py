"""Why a driver ended, in classes that differ in what helps: time, memory, a repair, or a person's decision.

The class is worked out where the whole exception is still there, in the driver, and travels twice: as its exit code,
which survives everything, and in its last words (`Failure`), which also say what was raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from sluice.streams.failures.exits import ExitCode
from sluice.wording import ExplainedEnum

FILE = "failure.json"
"""Where a driver leaves its last words, in the folder that its launcher keeps of it."""


class FailureClass(ExplainedEnum):
    """What an end says about the next attempt.

    Attributes:
        exit_code: what a driver of this class exits with; None for a class that is only ever recorded.
        what_to_do: what helps where time does not; empty where time does.
    """

    exit_code: ExitCode | None

    def __new__(cls, word: str, exit_code: ExitCode | None = None, what_to_do: str = "") -> Self:
        """Make a member; its meaning is that of its exit code."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.meaning = "was declared dead by a person" if exit_code is None else exit_code.meaning
        member.exit_code, member.what_to_do = exit_code, what_to_do
        return member

    STOPPED = "stopped", ExitCode.STOPPED
    COMPLETED = "completed", ExitCode.COMPLETED
    IDLE = "idle", ExitCode.IDLE
    FORCED = "forced", None
    # Killed by a signal, together with its keeper, or by the death of its JVM.
    KILLED = "killed", ExitCode.JVM_LOST, "find out what killed it: the kernel's log names what it killed for memory"
    TRANSIENT = "transient", ExitCode.TRANSIENT
    DISK_FULL = "disk full", ExitCode.DISK_FULL
    OUT_OF_MEMORY = (
        "out of memory",
        ExitCode.OUT_OF_MEMORY,
        "give it more memory (`resources` in the spec) or smaller batches",
    )
    CODE = "code", ExitCode.CODE, "fix the transform, or the input that it does not expect"
    WRONG_SPEC = "wrong spec", ExitCode.WRONG_SPEC, "run `sluice check` and fix the specs"
    FENCED = "fenced", ExitCode.FENCED, "find the other driver, and make sure that only one of them is wanted"
    DATA_LOSS = (
        "data loss",
        ExitCode.DATA_LOSS,
        "find out which records are gone, and decide whether the stream may continue without them",
    )
    CORRUPT = (
        "corrupt",
        ExitCode.CORRUPT,
        "put an older copy of its checkpoint back, or move it away (nothing is written twice)",
    )
    INCOMPATIBLE_STATE = (
        "incompatible state",
        ExitCode.INCOMPATIBLE_STATE,
        "go back to the code that wrote the state, or start from a new checkpoint",
    )
    AUTHORISATION = "authorisation", ExitCode.AUTHORISATION, "renew the credentials, or grant the missing rights"
    # So much of a batch is quarantined that its producer writes something else.
    SCHEMA_DRIFT = (
        "schema drift",
        ExitCode.SCHEMA_DRIFT,
        "compare what the producer writes with the topic spec, and fix one of them",
    )
    CONFIGURATION = (
        "configuration",
        ExitCode.CONFIGURATION,
        "set the variable where its driver is started; for Airflow: where `sluice up` is run",
    )
    UNKNOWN = "unknown", ExitCode.FAILED, "find the cause in the log"


PLANNED = frozenset({FailureClass.COMPLETED, FailureClass.IDLE})
"""Ends that a spec asks for: nothing went wrong, and nobody requested a stop."""

EXIT_CODES: Mapping[FailureClass, ExitCode] = {
    kind: kind.exit_code for kind in FailureClass if kind.exit_code is not None
}
"""What a driver exits with."""

_CLASSES = {int(code): kind for kind, code in EXIT_CODES.items()}


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
        text = f"{self.error}: {self.message}" if self.message else self.error
        return f"stream {self.stream}: {text}" if self.stream else text


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
