"""What a person does about a unit that is HALTED: for each class of failure the ways that work, command by command.

A way is whole: who follows it from its first clause to its last command has a driver that runs, as far as the class
tells. What a second attempt would only repeat is never advised.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sluice.streams.failures.failure import FailureClass

_STREAM = re.compile(r"\(stream ([a-z][a-z0-9_]*): ")


@dataclass(frozen=True)
class Way:
    """One way to go on.

    Attributes:
        first: what a person does before the commands, as a clause.
        commands: what is run then, in this order.
    """

    first: str
    commands: tuple[str, ...]

    def __str__(self) -> str:
        """Return it as a clause."""
        return f"{self.first}, then run {', '.join(f'`{command}`' for command in self.commands)}"


def ways(kind: FailureClass, unit: str, stream: str = "") -> tuple[Way, ...]:
    """Return the ways to go on, the best first.

    Args:
        kind: the class of the failure that halted it.
        unit: which is HALTED.
        stream: that failed; empty if that is not known, or if several did.
    """
    resumed = (f"sluice streams resume {unit}",)
    match kind:
        case FailureClass.DATA_LOSS:
            first = "find out which records are gone, and decide that it may continue without them"
            return (Way(first, _reset_commands(unit, stream, "the records are gone")),)
        case FailureClass.INCOMPATIBLE_STATE:
            back = Way("go back to the code that wrote the state", resumed)
            first = "or give up the state (settled intervals stay, and open ones are computed from the raw table)"
            return (back, Way(first, _reset_commands(unit, stream, "its state has another shape")))
        case _:
            return (Way(kind.what_to_do or "see its log", resumed),)


def advice(kind: FailureClass, unit: str, stream: str = "") -> str:
    """Return all ways as one clause; the arguments are those of `ways`."""
    return "; ".join(map(str, ways(kind, unit, stream)))


def failed_stream(reason: str) -> str:
    """Return the stream that an end on record names; empty if it names none."""
    match = _STREAM.search(reason)
    return match[1] if match else ""


def _reset_commands(unit: str, stream: str, why: str) -> tuple[str, ...]:
    """Return the commands of a reset, which needs a stop on record; raw streams are reset only by their names."""
    only = f" --stream {stream}" if stream else ""
    return (
        f"sluice streams stop {unit}",
        f'sluice streams reset {unit}{only} --to earliest --why "{why}"',
        f"sluice streams start {unit}",
    )
