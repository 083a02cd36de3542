"""The page of errors: every class that Sluice raises on purpose, and every end of a driver."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import sluice
from generate.markdown import code, paragraphs, table
from sluice.errors import SluiceError
from sluice.streams.failures.failure import FailureClass

_CORE = ("contracts", "delta", "errors", "feeds", "intervals", "kafka", "provisioning", "quality", "specs", "streams")
_HEAD = """# Errors

Made from the code by `make references`. Every error that Sluice raises on purpose is a
`SluiceError`. Its message says what was found, where, why it is refused, and after `Fix:` what to do. A command
prints it on stderr and exits with the code of its class. A traceback is a bug in Sluice.

See also [all words of the output](../codes.md), including [what a plan risks](../codes.md#risks-of-a-plan); [why
records are quarantined](../validation.md#reasons); [what to do by verdict](../runbook.md).

## Classes

Each class is below its base class. A command that raises it exits with its code.
"""
_DRIVERS = """
## Ends of a driver

A driver's exit code is kept by its launcher, and its class decides whether the unit is started again by itself
([restarts](../streams.md#restarts)). A driver that ended by a signal, or left no record, is `killed`; any other
number is `unknown`. [Terms](../codes.md#ends-of-a-driver) says what each class means, and [recover a HALTED
stream](../how-to/recover-a-halted-stream.md) what to do.
"""
_SPECS = """
## Faults of specs

`sluice check` writes one line for each: `file:line: key: what was found and why it is refused. Fix: what to do.` All
faults of all files come at once. They have no codes: a fault is known by its file, its line and its key. With `-o
json`: `file`, `line`, `where`, `message`, `fix`.
"""


def errors_page() -> str:
    """Return the page."""
    classes = table(
        ("class", "exit code", "when", "what to do"),
        ((f"{'&emsp;' * depth}`{error.__name__}`", code(str(error.exit_code)), _when(error), _todo(error, depth))
         for error, depth in _below(SluiceError, 0)),
    )  # fmt: skip
    drivers = table(("class", "exit code"), ((code(kind.value), code(_exit_code(kind))) for kind in FailureClass))
    return f"{_HEAD}\n{classes}\n{_DRIVERS}\n{drivers}\n{_SPECS}"


def _exit_code(kind: FailureClass) -> str:
    return "" if kind.exit_code is None else str(int(kind.exit_code))


def _below(error: type[SluiceError], depth: int) -> Iterator[tuple[type[SluiceError], int]]:
    """Yield a class, then those below it, by name."""
    _import_all()
    yield error, depth
    public = [each for each in error.__subclasses__() if not each.__name__.startswith("_") and _is_ours(each)]
    for each in sorted(public, key=lambda each: (each.exit_code, each.__name__)):
        yield from _below(each, depth + 1)


def _is_ours(error: type[SluiceError]) -> bool:
    return error.__module__.startswith("sluice.")


def _import_all() -> None:
    """Import every module that may define an error."""
    for found in pkgutil.walk_packages(sluice.__path__, "sluice."):
        room = found.name.split(".")[1]
        if room in _CORE and not found.ispkg:
            importlib.import_module(found.name)


def _when(error: type[SluiceError]) -> str:
    return paragraphs(error.__doc__ or "")[0]


def _todo(error: type[SluiceError], depth: int) -> str:
    return error.what_to_do if depth == 1 else ""
