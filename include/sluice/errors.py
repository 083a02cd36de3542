"""Every error that Sluice raises on purpose, and the exit code of the command line for it.

    SluiceError                 1   something failed; the message says what
    ├── SpecError               2   a spec, or a command's arguments, are wrong (all faults at once)
    ├── NotReadyError           3   this machine or stack lacks something (Java, a port, memory, the broker)
    │   └── NotConfiguredError  3   a variable that a spec names is not set here; no time heals that
    ├── UnreachableError        4   could not look: the answer is unknown, which is not "no"
    ├── RefusedError            5   it would lose, repeat or overwrite something; nothing was changed
    └── CorruptionError         6   our own data contradicts itself; a person must look

A message answers four questions, in this order: what was found, where, why it is refused, what to do.
"""

from __future__ import annotations

from typing import ClassVar


class SluiceError(Exception):
    """Base of all deliberate errors. `fix` is one sentence that tells the reader what to do."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} Fix: {self.fix}" if self.fix else self.message


class SpecError(SluiceError):
    """A spec is wrong."""

    exit_code = 2


class NotReadyError(SluiceError):
    """The machine or the stack is not ready for what was asked."""

    exit_code = 3


class NotConfiguredError(NotReadyError):
    """A variable that a spec names is not set, or holds what can hardly be meant."""


class UnreachableError(SluiceError):
    """A remote could not be asked. Unknown is not dead, and not empty."""

    exit_code = 4


class RefusedError(SluiceError):
    """A guard refused; nothing was changed."""

    exit_code = 5


class CorruptionError(SluiceError):
    """Our own records contradict each other."""

    exit_code = 6
