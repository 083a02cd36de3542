"""Every error that Sluice raises on purpose, and the exit code of the command line for it.

    SluiceError                 1   something failed; the message says what
    ├── SpecError               2   a spec, or a command's arguments, are wrong (all faults at once)
    ├── NotReadyError           3   this machine or stack lacks something (Java, a port, memory, the broker)
    │   └── NotConfiguredError  3   a variable that a spec names is not set here; no time heals that
    ├── UnreachableError        4   could not check: the answer is unknown, which is not "no"
    ├── RefusedError            5   it would lose, repeat or overwrite something; nothing was changed
    └── CorruptionError         6   our own data contradicts itself; a person must check

A message answers four questions, in this order: what was found, where, why it is refused, what to do.
"""

from __future__ import annotations

from typing import ClassVar


class SluiceError(Exception):
    """Base of all deliberate errors. `fix` is one sentence that tells the reader what to do."""

    exit_code: ClassVar[int] = 1
    meaning: ClassVar[str] = "failed; the message says why"
    what_to_do: ClassVar[str] = ""

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} Fix: {self.fix}" if self.fix else self.message


class SpecError(SluiceError):
    """A spec is wrong."""

    exit_code = 2
    meaning = "a spec or an argument is wrong"
    what_to_do = "fix all the faults that the message lists"


class NotReadyError(SluiceError):
    """The machine or the stack is not ready for what was requested."""

    exit_code = 3
    meaning = "this machine or the stack is not ready"
    what_to_do = "the message names what is missing; `sluice doctor` checks for it"


class NotConfiguredError(NotReadyError):
    """A variable that a spec names is not set, or holds what can hardly be meant."""


class UnreachableError(SluiceError):
    """A remote could not be queried. Unknown is not dead, and not empty."""

    exit_code = 4
    meaning = "something did not answer, so the result is unknown"
    what_to_do = "repeat the command when what the message names answers again"


class RefusedError(SluiceError):
    """A guard refused; nothing was changed."""

    exit_code = 5
    meaning = "refused: it would lose, repeat or overwrite something; nothing was changed"
    what_to_do = "do first what the message says"


class CorruptionError(SluiceError):
    """Our own records contradict each other."""

    exit_code = 6
    meaning = "Sluice's own records contradict each other"
    what_to_do = "keep a copy, and find the cause before anything writes again"


def exit_codes() -> dict[int, tuple[str, str]]:
    """Return what each exit code of a command means and what to do about it; the advice may be empty."""
    classes = (SluiceError, SpecError, NotReadyError, UnreachableError, RefusedError, CorruptionError)
    return {0: ("done", "")} | {error.exit_code: (error.meaning, error.what_to_do) for error in classes}
