"""Rules about a pipeline's transform, judged by reading its module and never by importing it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from sluice.specs.code import import_closure
from sluice.specs.determinism import undetermined
from sluice.specs.faults import Fault, SpecFaults
from sluice.specs.kinds import Kind
from sluice.specs.model import PipelineSpec
from sluice.specs.modules import parse_module
from sluice.specs.reading import Finding, Reading


def transform_module(pipeline: PipelineSpec, reading: Reading) -> Path:
    """Return the file that a pipeline's `transform` names."""
    return reading.transforms / f"{pipeline.transform.partition(':')[0]}.py"


def transforms_fit(reading: Reading) -> Iterator[Finding]:
    """A transform exists, takes the records and the declared static inputs, and depends on nothing else."""
    judged: dict[Path, tuple[Fault, ...]] = {}
    for name, pipeline in reading.catalog.pipelines.items():
        path = transform_module(pipeline, reading)
        if not path.is_file():
            message = f"{pipeline.transform!r} needs a file {reading.file(path)}, which does not exist."
            yield reading.finding(Kind.PIPELINE, name, ("transform",), message, "write it, or correct the name.")
            continue
        if path not in judged:
            judged[path] = tuple(_faults_in_code(path, reading))
        yield from (Finding((Kind.PIPELINE, name), fault) for fault in judged[path])
        if not judged[path]:
            yield from _signature_fits(name, pipeline, path, reading)


def _faults_in_code(path: Path, reading: Reading) -> Iterator[Fault]:
    """Yield what is wrong in a transform's module and in the modules of the project that it imports."""
    try:
        closure = import_closure(path, (reading.home / "spark_jobs", reading.include))
        for module in closure:
            if module.is_relative_to(reading.transforms):
                yield from undetermined(module, reading.file(module))
    except SpecFaults as error:
        yield from (Fault(reading.file(Path(f.file)), f.line, f.where, f.message, f.fix) for f in error.faults)


def _signature_fits(name: str, pipeline: PipelineSpec, path: Path, reading: Reading) -> Iterator[Finding]:
    function = pipeline.transform.partition(":")[2]
    module = parse_module(path)
    found = next((n for n in module.body if isinstance(n, ast.FunctionDef) and n.name == function), None)
    if found is None:
        message = f"{reading.file(path)} defines no function {function!r} at its top level."
        yield reading.finding(Kind.PIPELINE, name, ("transform",), message, _functions(module))
        return
    arguments = found.args
    if len(arguments.posonlyargs + arguments.args) != 1 or arguments.vararg or arguments.kwarg:
        message = f"{function}({ast.unparse(arguments)}) must take the records as its one positional parameter."
        fix = f"write `def {function}(records, *, <static inputs>)`."
        yield reading.finding(Kind.PIPELINE, name, ("transform",), message, fix)
    taken, declared = [argument.arg for argument in arguments.kwonlyargs], list(pipeline.static)
    for key in declared:
        if key not in taken:
            message = f"{function} takes no keyword-only parameter {key!r}; it takes {', '.join(taken) or 'none'}."
            yield reading.finding(Kind.PIPELINE, name, ("static", key), message, "name both alike.")
    for key in taken:
        if key not in declared:
            message = f"{function} takes {key!r}, which is no static input of this pipeline."
            yield reading.finding(Kind.PIPELINE, name, ("static",), message, f"declare static.{key}, or remove it.")


def _functions(module: ast.Module) -> str:
    names = [node.name for node in module.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    return f"it defines {', '.join(names)}." if names else ""
