"""The rule about sinks that a project writes itself: judged by reading their modules, never by importing them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from sluice.specs.code.modules import parse_module
from sluice.specs.model.outputs import SinkOutput
from sluice.specs.reading.faults import SpecFaults
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading
from sluice.specs.rules.output_rules import outputs_of

_GUARANTEES = ("at_least_once", "exactly_once")
_DECLARE = 'write `@delivers("at_least_once")` above it, or `@delivers("exactly_once", newest=...)`.'


def sinks_are_functions_with_a_guarantee(reading: Reading) -> Iterator[Finding]:
    """A sink is a function below `spark_jobs/sinks` that says what it guarantees."""
    for name, pipeline in reading.catalog.pipelines.items():
        for loc, output in outputs_of(pipeline):
            if not isinstance(output, SinkOutput):
                continue
            path = reading.home / "spark_jobs" / "sinks" / output.module_file
            try:
                found = _faults(output.function.partition(":")[2], path, reading.file(path))
                for message, fix in found:
                    yield reading.finding(Kind.PIPELINE, name, (*loc, "function"), message, fix)
            except SpecFaults as error:  # the module is not Python
                shown = (replace(fault, file=reading.file(Path(fault.file))) for fault in error.faults)
                yield from (Finding((Kind.PIPELINE, name), fault) for fault in shown)


def _faults(function: str, path: Path, shown: str) -> Iterator[tuple[str, str]]:
    """Yield what is wrong, and what to do."""
    if not path.is_file():
        yield f"the sink needs a file {shown}, which does not exist.", "write it, or correct the name."
        return
    functions = [node for node in parse_module(path).body if isinstance(node, ast.FunctionDef)]
    definition = next((node for node in functions if node.name == function), None)
    if definition is None:
        names = ", ".join(node.name for node in functions)
        yield f"{shown} defines no function {function!r} at its top level.", f"it defines {names or 'none'}."
        return
    declared = [node for node in definition.decorator_list if isinstance(node, ast.Call) and _name(node) == "delivers"]
    if not declared:
        yield f"{function} in {shown} declares no guarantee.", _DECLARE
        return
    yield from _unfit(declared[0], function, shown)
    if len(definition.args.posonlyargs + definition.args.args) != 2 or definition.args.kwonlyargs:  # noqa: PLR2004
        message = f"{function}({ast.unparse(definition.args)}) must take the rows and the batch."
        yield message, f"write `def {function}(rows, batch)`."


def _unfit(call: ast.Call, function: str, shown: str) -> Iterator[tuple[str, str]]:
    given = call.args[0] if call.args else None
    guarantee = given.value if isinstance(given, ast.Constant) else None
    if guarantee not in _GUARANTEES:
        what = ast.unparse(given) if given is not None else "nothing"
        yield f"{function} in {shown} guarantees {what}; there are {' and '.join(_GUARANTEES)}.", _DECLARE
        return
    says_newest = any(keyword.arg == "newest" for keyword in call.keywords)
    if says_newest != (guarantee == "exactly_once"):
        does = "does not say what the sink holds" if not says_newest else "needs no `newest`"
        yield f"{function} in {shown} declares {guarantee} and {does}.", _DECLARE


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
