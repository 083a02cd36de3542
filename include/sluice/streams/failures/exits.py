"""Exit codes of a driver: what its launcher keeps when everything else is gone."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Why a driver exited by itself. Anything else is a crash. The numbers are on record: none is ever reused."""

    STOPPED = 0  # asked to stop; the running batch was finished and committed
    FAILED = 1  # an exception that is in no other class
    WRONG_SPEC = 2  # the specs or the arguments do not stand
    FENCED = 10  # a newer generation owns the tables
    DATA_LOSS = 11  # records are gone that were never read
    CORRUPT = 12  # a checkpoint or ledger contradicts itself
    TRANSIENT = 13  # broker or storage did not answer, or something was not ready
    OUT_OF_MEMORY = 14
    CODE = 15  # the transform, or Spark's analysis of it
    INCOMPATIBLE_STATE = 16  # the checkpoint's state does not fit the code
    AUTHORISATION = 17
    JVM_LOST = 18  # Spark's JVM died beneath the driver
    SCHEMA_DRIFT = 19  # more of a batch is quarantined than the spec allows
    CONFIGURATION = 21  # a variable that a spec names is not set where the driver was started
    DISK_FULL = 22  # a disk took no more


EXPLANATIONS: dict[int, str] = {
    ExitCode.STOPPED: "stopped as asked",
    ExitCode.FAILED: "failed; the exception is at the end of the driver's log",
    ExitCode.WRONG_SPEC: "could not run: its specs do not stand",
    ExitCode.FENCED: "ended because another driver took over; it published nothing more",
    ExitCode.DATA_LOSS: "failed: records that were never read are gone from the topic",
    ExitCode.CORRUPT: "failed: the checkpoint or the ledger contradicts itself",
    ExitCode.TRANSIENT: "failed: something that it needs was not there or did not answer",
    ExitCode.DISK_FULL: "failed: a disk is full; it goes on where it was once there is room",
    ExitCode.OUT_OF_MEMORY: "ran out of memory",
    ExitCode.CODE: "failed in the transform or in Spark's analysis of it",
    ExitCode.INCOMPATIBLE_STATE: "failed: the state in its checkpoint does not fit the code",
    ExitCode.AUTHORISATION: "was refused by Kafka or the storage: it is not authorised",
    ExitCode.SCHEMA_DRIFT: "stopped at a batch of which more is quarantined than its spec allows",
    ExitCode.CONFIGURATION: "could not run: a variable that its specs name is not set where it was started",
    ExitCode.JVM_LOST: "ended because Spark's JVM died beneath it (often the kernel, for lack of memory)",
}


def explain_exit(code: int | None) -> str:
    """Return one phrase for an exit code; negative codes are signals, None is "no record"."""
    if code is None:
        return "left no exit record (killed together with its keeper, or the machine restarted)"
    if code < 0:
        return f"was killed by signal {-code}"
    return EXPLANATIONS.get(code, f"exited with code {code}")
