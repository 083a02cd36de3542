"""A transform in Python, judged by reading its module and never by importing it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sluice.specs.code.closure import import_closure
from sluice.specs.code.determinism import undetermined
from sluice.specs.code.join_rules import TimeJoins
from sluice.specs.code.modules import parse_module
from sluice.specs.code.scope_rules import UnboundedExpression
from sluice.specs.code.unbounded import unbounded_expressions
from sluice.specs.code.window_rules import WindowCall
from sluice.specs.code.windows import windows_of
from sluice.specs.model.model import PipelineSpec
from sluice.specs.reading.faults import Fault, SpecFaults
from sluice.specs.reading.reading import Reading, SpecMisfit


@dataclass(frozen=True)
class PythonTransform:
    """A function of a module, as one pipeline uses it. It implements `sluice.specs.code.transforms.TransformFile`.

    Attributes:
        path: of the file.
        pipeline: which uses it.
        reading: the project.
    """

    path: Path
    pipeline: PipelineSpec
    reading: Reading

    @property
    def _function(self) -> str:
        return self.pipeline.transform.partition(":")[2]

    @property
    def _roots(self) -> tuple[Path, Path]:
        return self.reading.home / "spark_jobs", self.reading.include

    def faults(self) -> Iterator[Fault]:
        """Yield what is wrong in the module and in the modules of the project that it imports."""
        reading = self.reading
        try:
            closure = import_closure(self.path, self._roots)
            for module in closure:
                if module.is_relative_to(reading.transforms):
                    yield from undetermined(module, reading.file(module))
        except SpecFaults as error:
            yield from (Fault(reading.file(Path(f.file)), f.line, f.where, f.message, f.fix) for f in error.faults)

    def misfits(self) -> Iterator[SpecMisfit]:
        """Yield where spec and function do not fit: the module is Python."""
        module = parse_module(self.path)
        definition = next((n for n in module.body if isinstance(n, ast.FunctionDef) and n.name == self._function), None)
        if definition is None:
            message = f"{self.reading.file(self.path)} defines no function {self._function!r} at its top level."
            yield ("transform",), message, _functions(module)
            return
        sources = list(self.pipeline.sources)
        yield from _unfit_sources(definition, sources) if len(sources) > 1 else _unfit_source(definition)
        static = [key for key in self.pipeline.static if key not in sources]
        carries = [key for key in self._carries if key not in {*self.pipeline.static, *self.pipeline.every_source}]
        where = ("output", "carries") if self.pipeline.output is not None else ("outputs",)
        yield from _unfit_carried(definition, carries, where)
        yield from _unfit_static(definition, static, carries)
        if carries and self.pipeline.side_outputs and not self._keeps_state_live():
            message = f"{self._function} works out {', '.join(carries)} with DataFrames, which a live output cannot."
            fix = "use `sluice.spark.keyed.in_order`, or move the live output into a pipeline of its own."
            yield where, message, fix

    @property
    def _carries(self) -> tuple[str, ...]:
        return tuple(self.pipeline.intervals.carries) if self.pipeline.has_intervals else ()

    def _keeps_state_live(self) -> bool:
        """Whether the project's code names the function by which a state is kept in a stream, too."""
        own = (path for path in import_closure(self.path, self._roots) if path.is_relative_to(self._roots[0]))
        return any("in_order" in path.read_text(encoding="utf-8") for path in own)

    def windows(self) -> tuple[WindowCall, ...]:
        """Return the windows that it makes."""
        return windows_of(self.path, self._function, self._roots)

    def unbounded(self) -> tuple[UnboundedExpression, ...]:
        """Return what it does with all records that a call is given."""
        return unbounded_expressions(self.path, self._function)

    def joins(self) -> TimeJoins:
        """Return nothing: which columns a function joins by, reading it does not tell."""
        return TimeJoins()


def _unfit_source(definition: ast.FunctionDef) -> Iterator[SpecMisfit]:
    """Yield why a function cannot be given the records of its one source, which it may call anything."""
    arguments, function = definition.args, definition.name
    if len(arguments.posonlyargs + arguments.args) != 1 or arguments.vararg or arguments.kwarg:
        message = f"{function}({ast.unparse(arguments)}) must take the records as its one positional parameter."
        fix = f"write `def {function}(records, *, <static inputs>)`."
        yield ("transform",), message, fix


def _unfit_sources(definition: ast.FunctionDef, declared: list[str]) -> Iterator[SpecMisfit]:
    """Yield why a function cannot be given the records of several sources, which it calls by their names."""
    arguments, function = definition.args, definition.name
    fix = f"write `def {function}({', '.join(declared)}, *, <static inputs>)`."
    if arguments.posonlyargs or arguments.vararg or arguments.kwarg:
        message = f"{function}({ast.unparse(arguments)}) must take each source by its name: a parameter for each."
        yield ("transform",), message, fix
        return
    taken = [argument.arg for argument in arguments.args]
    untaken, unknown = [k for k in declared if k not in taken], [t for t in taken if t not in declared]
    if len(untaken) == len(unknown) == 1:  # one of the two is misspelt
        message = f"{function} takes the records {unknown[0]!r}, and this source is named {untaken[0]!r}."
        yield ("sources", untaken[0]), message, "name both alike."
        return
    for key in untaken:
        message = f"{function} takes no positional parameter {key!r}; it takes {', '.join(taken) or 'none'}."
        yield ("sources", key), message, fix
    for parameter in unknown:
        message = f"{function} takes the records {parameter!r}, which is no source of this pipeline."
        yield ("sources",), message, f"declare sources.{parameter}, or put what is a static input behind `*`."


def _unfit_carried(definition: ast.FunctionDef, carried: list[str], where: tuple[str, ...]) -> Iterator[SpecMisfit]:
    """Yield which carried tables of a spec a function does not take."""
    function, taken = definition.name, [argument.arg for argument in definition.args.kwonlyargs]
    for key in (each for each in carried if each not in taken):
        message = f"{function} takes no keyword-only parameter {key!r}, and the output carries this table."
        yield where, message, f"write `def {function}(..., *, {key})`, and return what it leaves of it."


def _unfit_static(definition: ast.FunctionDef, declared: list[str], carried: list[str]) -> Iterator[SpecMisfit]:
    """Yield where the static inputs of a spec are not those that a function takes."""
    function, keywords = definition.name, [argument.arg for argument in definition.args.kwonlyargs]
    taken = [each for each in keywords if each not in carried]
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
