"""Exit codes of a driver: what its launcher keeps when everything else is gone."""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class ExitCode(IntEnum):
    """Why a driver exited by itself. Anything else is a crash. The numbers are on record: none is ever reused.

    Attributes:
        meaning: what happened to the driver, as a predicate without a full stop.
    """

    meaning: str

    def __new__(cls, number: int, meaning: str = "") -> Self:
        """Make a member of a number and its meaning."""
        member = int.__new__(cls, number)
        member._value_ = number
        member.meaning = meaning
        return member

    STOPPED = 0, "stopped as requested"
    FAILED = 1, "failed; the exception is at the end of the driver's log"
    WRONG_SPEC = 2, "could not run: its specs or arguments are wrong"
    FENCED = 10, "ended because another driver took over; it published nothing more"
    DATA_LOSS = 11, "failed: records that it never read are gone from the topic"
    CORRUPT = 12, "failed: its checkpoint or the ledger contradicts itself"
    TRANSIENT = 13, "failed: a service that it needs did not answer or was not ready"
    OUT_OF_MEMORY = 14, "ran out of memory"
    CODE = 15, "failed in the transform, or in Spark's analysis of it"
    INCOMPATIBLE_STATE = 16, "failed: the state in its checkpoint does not fit the code"
    AUTHORISATION = 17, "was refused by Kafka or the storage: not authorised"
    JVM_LOST = 18, "ended because Spark's JVM died (often killed by the kernel for lack of memory)"
    SCHEMA_DRIFT = 19, "stopped: more of a batch was quarantined than its spec allows"
    CONFIGURATION = 21, "could not run: a variable that its specs name is not set where it was started"
    COMPLETED = 23, "read what was there at its start and ended, as its schedule says"
    IDLE = 24, "ended by itself: nothing came for as long as its spec says"
    DISK_FULL = 22, "failed: a disk is full; it continues where it stopped once there is space"


_MEANINGS = {int(code): code.meaning for code in ExitCode}


def explain_exit(code: int | None) -> str:
    """Return one phrase for an exit code; negative codes are signals, None is "no record"."""
    if code is None:
        return "left no exit record (killed together with its keeper, or the machine restarted)"
    if code < 0:
        return f"was killed by signal {-code}"
    return _MEANINGS.get(code, f"exited with code {code}")
