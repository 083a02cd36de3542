"""Exit codes of a driver: what its launcher keeps when everything else is gone."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Why a driver exited by itself. Anything else is a crash."""

    STOPPED = 0  # asked to stop; the running batch was finished and committed
    FAILED = 1  # an exception that is in no other class
    WRONG_SPEC = 2  # the specs or the arguments do not stand
    FENCED = 10  # a newer generation owns the tables
    DATA_LOSS = 11  # records are gone that were never read
    CORRUPT = 12  # a checkpoint or ledger contradicts itself


EXPLANATIONS: dict[int, str] = {
    ExitCode.STOPPED: "stopped as asked",
    ExitCode.FAILED: "failed; the exception is at the end of the driver's log",
    ExitCode.WRONG_SPEC: "the specs do not stand; run `sluice check`",
    ExitCode.FENCED: "a newer generation took over; this one published nothing more",
    ExitCode.DATA_LOSS: "records that were never read are gone from the topic",
    ExitCode.CORRUPT: "the checkpoint or the ledger contradicts itself; see the runbook",
}


def explain_exit(code: int | None) -> str:
    """Return one phrase for an exit code; negative codes are signals, None is "no record"."""
    if code is None:
        return "left no exit record (killed together with its keeper, or the machine restarted)"
    if code < 0:
        return f"was killed by signal {-code}"
    return EXPLANATIONS.get(code, f"exited with code {code}")
