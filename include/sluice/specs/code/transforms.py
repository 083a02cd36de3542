"""The rule about a pipeline's transform, whatever language it is written in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sluice.errors import SpecError
from sluice.specs.code.join_rules import TimeJoins, short_reaches
from sluice.specs.code.python_transform import PythonTransform
from sluice.specs.code.scope_rules import UnboundedExpression
from sluice.specs.code.window_rules import WindowCall, unfit_windows
from sluice.specs.model.model import PipelineSpec
from sluice.specs.reading.faults import Fault
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading, SpecMisfit


class ManyRowsError(SpecError):
    """A transform may make several rows of a record, or makes them of several, where each has to name its record."""


class TransformFile(Protocol):
    """A transform as its file has it, and as one pipeline uses it. Only `faults` may be asked of what has some."""

    def faults(self) -> Iterable[Fault]:
        """Return what is wrong in the code itself."""

    def misfits(self) -> Iterable[SpecMisfit]:
        """Return where the spec does not fit it."""

    def windows(self) -> tuple[WindowCall, ...]:
        """Return the windows that it makes, in order."""

    def unbounded(self) -> tuple[UnboundedExpression, ...]:
        """Return what it does with all records that a call is given, whatever their time; in order."""

    def joins(self) -> TimeJoins:
        """Return how far apart in time it joins the records of several sources, as far as that is seen."""


def transforms_fit(reading: Reading) -> Iterator[Finding]:
    """A transform exists, takes the records and the declared static inputs, and depends on nothing else."""
    judged: dict[_Use, _Judged] = {}
    for name, pipeline in reading.catalog.pipelines.items():
        columns = {each: tuple(source.columns) for each, source in pipeline.topic_sources.items()}
        sources = tuple((each, s.reads, *columns.get(each, ())) for each, s in pipeline.every_source.items())
        carried = tuple(pipeline.intervals.carries) if pipeline.has_intervals else ()
        use = (pipeline.transform, bool(pipeline.sources), sources, carried, *pipeline.static)
        if use not in judged:
            judged[use] = _judge(pipeline, reading)
        yield from _findings(name, pipeline, judged[use], reading)


_Use = tuple[object, ...]
"""A transform, its sources and its static inputs: where they are the same, it is judged once."""


@dataclass(frozen=True)
class _Judged:
    faults: tuple[Fault, ...] = ()
    misfits: tuple[SpecMisfit, ...] = ()
    windows: tuple[WindowCall, ...] = ()
    unbounded: tuple[UnboundedExpression, ...] = ()
    joins: TimeJoins = field(default_factory=TimeJoins)


def _judge(pipeline: PipelineSpec, reading: Reading) -> _Judged:
    path = reading.transforms / pipeline.transform_file
    if not path.is_file():
        message = f"{pipeline.transform!r} needs a file {reading.file(path)}, which does not exist."
        return _Judged(misfits=((("transform",), message, "write it, or correct the name."),))
    transform = _transform(path, pipeline, reading)
    if faults := tuple(transform.faults()):
        return _Judged(faults)
    if misfits := tuple(transform.misfits()):
        return _Judged(misfits=misfits)
    return _Judged(windows=transform.windows(), unbounded=transform.unbounded(), joins=transform.joins())


def _transform(path: Path, pipeline: PipelineSpec, reading: Reading) -> TransformFile:
    if not pipeline.is_sql:
        return PythonTransform(path, pipeline, reading)
    from sluice.specs.code.sql_transform import SqlTransform  # noqa: PLC0415  who has no SQL need not wait for sqlglot

    return SqlTransform(path, pipeline, reading)


def _findings(name: str, pipeline: PipelineSpec, judged: _Judged, reading: Reading) -> Iterator[Finding]:
    yield from (Finding((Kind.PIPELINE, name), fault) for fault in judged.faults)
    yield from (reading.finding(Kind.PIPELINE, name, *misfit) for misfit in judged.misfits)
    if not pipeline.has_intervals:
        return
    file = reading.file(reading.transforms / pipeline.transform_file)
    for window, message, fix in unfit_windows(judged.windows, pipeline.intervals):
        where = f"line {window.line} of {reading.file(window.file)}"
        yield reading.finding(Kind.PIPELINE, name, ("transform",), f"{pipeline.transform}: {where}: {message}", fix)
    for misfit in short_reaches(judged.joins, pipeline, file):
        yield reading.finding(Kind.PIPELINE, name, *misfit)
    for found in () if pipeline.intervals.called_per_interval else judged.unbounded:
        message = f"{pipeline.transform}: line {found.line} of {file}: {found.message}"
        yield reading.finding(Kind.PIPELINE, name, ("transform",), message, found.fix)
