"""Rules about a pipeline's transform, judged by reading its module and never by importing it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from sluice.contracts.breach import Loc
from sluice.specs.code.closure import import_closure
from sluice.specs.code.determinism import undetermined
from sluice.specs.code.modules import parse_module
from sluice.specs.code.unbounded import unbounded_expressions
from sluice.specs.code.window_rules import WindowCall, unfit_windows
from sluice.specs.code.windows import windows_of
from sluice.specs.model.model import PipelineSpec
from sluice.specs.reading.faults import Fault, SpecFaults
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading


def transform_module(pipeline: PipelineSpec, reading: Reading) -> Path:
    """Return the file that a pipeline's `transform` names."""
    return reading.transforms / f"{pipeline.transform.partition(':')[0]}.py"


def transforms_fit(reading: Reading) -> Iterator[Finding]:
    """A transform exists, takes the records and the declared static inputs, and depends on nothing else."""
    in_code: dict[str, tuple[Fault, ...]] = {}
    in_use: dict[tuple[str, tuple[str, ...]], tuple[_Misfit, ...]] = {}
    in_windows: dict[str, tuple[WindowCall, ...]] = {}
    for name, pipeline in reading.catalog.pipelines.items():
        module, use = pipeline.transform.partition(":")[0], (pipeline.transform, tuple(pipeline.static))
        if use not in in_use:
            path = transform_module(pipeline, reading)
            if module not in in_code:
                in_code[module] = tuple(_faults_in_code(path, reading)) if path.is_file() else ()
            in_use[use] = () if in_code[module] else tuple(_misfits(pipeline, path, reading))
        yield from (Finding((Kind.PIPELINE, name), fault) for fault in in_code[module])
        yield from (reading.finding(Kind.PIPELINE, name, *misfit) for misfit in in_use[use])
        if pipeline.has_intervals and not (in_code[module] or in_use[use]):
            if pipeline.transform not in in_windows:
                in_windows[pipeline.transform] = _windows(pipeline, reading)
            for window, message, fix in unfit_windows(in_windows[pipeline.transform], pipeline.intervals):
                where = f"{pipeline.transform}: line {window.line} of {reading.file(window.file)}: "
                yield reading.finding(Kind.PIPELINE, name, ("transform",), f"{where}{message}", fix)
            if not pipeline.intervals.called_per_interval:
                yield from _unbounded(name, pipeline, reading)


def _unbounded(name: str, pipeline: PipelineSpec, reading: Reading) -> Iterator[Finding]:
    path, function = transform_module(pipeline, reading), pipeline.transform.partition(":")[2]
    for found in unbounded_expressions(path, function):
        message = f"{pipeline.transform}: line {found.line} of {reading.file(path)}: {found.message}"
        yield reading.finding(Kind.PIPELINE, name, ("transform",), message, found.fix)


def _windows(pipeline: PipelineSpec, reading: Reading) -> tuple[WindowCall, ...]:
    function = pipeline.transform.partition(":")[2]
    return windows_of(transform_module(pipeline, reading), function, _roots(reading))


def _roots(reading: Reading) -> tuple[Path, Path]:
    return reading.home / "spark_jobs", reading.include


def _faults_in_code(path: Path, reading: Reading) -> Iterator[Fault]:
    """Yield what is wrong in a transform's module and in the modules of the project that it imports."""
    try:
        closure = import_closure(path, _roots(reading))
        for module in closure:
            if module.is_relative_to(reading.transforms):
                yield from undetermined(module, reading.file(module))
    except SpecFaults as error:
        yield from (Fault(reading.file(Path(f.file)), f.line, f.where, f.message, f.fix) for f in error.faults)


_Misfit = tuple[Loc, str, str]
"""Where in a pipeline's spec, what, and what to do."""


def _misfits(pipeline: PipelineSpec, path: Path, reading: Reading) -> Iterator[_Misfit]:
    if not path.is_file():
        message = f"{pipeline.transform!r} needs a file {reading.file(path)}, which does not exist."
        yield ("transform",), message, "write it, or correct the name."
        return
    function = pipeline.transform.partition(":")[2]
    module = parse_module(path)
    definition = next((n for n in module.body if isinstance(n, ast.FunctionDef) and n.name == function), None)
    if definition is None:
        message = f"{reading.file(path)} defines no function {function!r} at its top level."
        yield ("transform",), message, _functions(module)
        return
    arguments = definition.args
    if len(arguments.posonlyargs + arguments.args) != 1 or arguments.vararg or arguments.kwarg:
        message = f"{function}({ast.unparse(arguments)}) must take the records as its one positional parameter."
        fix = f"write `def {function}(records, *, <static inputs>)`."
        yield ("transform",), message, fix
    taken, declared = [argument.arg for argument in arguments.kwonlyargs], list(pipeline.static)
    untaken, undeclared = set(declared) - set(taken), set(taken) - set(declared)
    if len(untaken) == len(undeclared) == 1:  # one of the two is misspelt
        (key,), (parameter,) = untaken, undeclared
        message = f"{function} takes the static input {parameter!r}, and this one is named {key!r}."
        yield ("static", key), message, "name both alike."
        return
    for key in declared:
        if key not in taken:
            message = f"{function} takes no keyword-only parameter {key!r}; it takes {', '.join(taken) or 'none'}."
            yield ("static", key), message, "name both alike."
    for key in taken:
        if key not in declared:
            message = f"{function} takes {key!r}, which is no static input of this pipeline."
            yield ("static",), message, f"declare static.{key}, or remove it."


def _functions(module: ast.Module) -> str:
    names = [node.name for node in module.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    return f"it defines {', '.join(names)}." if names else ""
