"""Rules about expectations that hold for each interval, and about bounds that history gives."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pydantic import ValidationError

from sluice.contracts.breach import Loc
from sluice.specs.expectations.model import Expectation, Subject
from sluice.specs.expectations.row_level import ROW_LEVEL
from sluice.specs.expectations.set_level import BETWEEN, OWN_ARGUMENTS, PER_INTERVAL, ReferenceArguments
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import IntervalsOutput, RowsOutput
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading
from sluice.specs.rules.output_rules import outputs_of
from sluice.specs.rules.record_expectations import faults_of_filters

_WORDING = {"missing": "the key is missing", "extra_forbidden": "no such key is known here"}

Faults = Iterator[tuple[Loc, str, str]]


def intervals_can_be_judged(reading: Reading) -> Iterator[Finding]:
    """What holds for intervals is known of one interval's rows; history is for numbers of intervals alone."""
    outputs = [output for p in reading.catalog.pipelines.values() for _, output in outputs_of(p)]
    tables = {o.table for o in outputs if isinstance(o, IntervalsOutput | RowsOutput)}
    for name, suite in reading.catalog.expectations.items():
        pipeline = reading.catalog.pipelines.get(suite.pipeline)
        for position, expectation in enumerate(suite.expectations):
            for loc, message, fix in _faults(expectation, pipeline, tables):
                yield reading.finding(Kind.SUITE, name, ("expectations", position, *loc), message, fix)


def _faults(expectation: Expectation, pipeline: PipelineSpec | None, tables: set[str]) -> Faults:
    if expectation.expect in OWN_ARGUMENTS:
        yield from _faults_of_own(expectation, pipeline, tables)
    elif Subject.INTERVAL in expectation.on:
        yield from _faults_of_shared(expectation)
    if expectation.history is not None:
        yield from _faults_of_history(expectation, pipeline)


def _faults_of_own(expectation: Expectation, pipeline: PipelineSpec | None, tables: set[str]) -> Faults:
    name, given = expectation.expect, expectation.kwargs
    if expectation.on != (Subject.INTERVAL,):
        yield ("on",), f"{name} is Sluice's own, and only about intervals.", "write `on: [interval]`."
    try:
        arguments = OWN_ARGUMENTS[name].model_validate_json(json.dumps(given), strict=True)
    except ValidationError as error:
        for each in error.errors(include_url=False):
            why = _WORDING.get(each["type"], each["msg"].removeprefix("Value error, "))
            yield ("kwargs", *each["loc"]), f"{name} refuses it: {why}.", ""
        return
    if isinstance(arguments, ReferenceArguments):
        if pipeline is not None and arguments.static is not None and arguments.static not in pipeline.static:
            known = ", ".join(pipeline.static) or "none"
            yield ("kwargs", "static"), f"the pipeline has no static input {arguments.static!r}.", f"it has {known}."
        if arguments.table is not None and arguments.table not in tables:
            fix = f"there are {', '.join(sorted(tables)) or 'none'}."
            yield ("kwargs", "table"), f"no pipeline has an output table {arguments.table!r}.", fix


def _faults_of_shared(expectation: Expectation) -> Faults:
    name, given = expectation.expect, expectation.kwargs
    if name not in PER_INTERVAL:
        fix = f"leave `interval` out of its `on`, or take one of {', '.join(sorted(PER_INTERVAL))}."
        yield ("on",), f"{name} is not judged interval by interval.", fix
        return
    elsewhere = "leave `interval` out of its `on`"
    yield from faults_of_filters(expectation, "of an interval's rows", "each interval is judged alone", elsewhere)
    if name in BETWEEN and expectation.history is None and not {"min_value", "max_value"} & {*given}:
        yield ("kwargs",), "nothing bounds it.", "give `min_value`, `max_value` or `history`."


def _faults_of_history(expectation: Expectation, pipeline: PipelineSpec | None) -> Faults:
    history = expectation.history
    if expectation.expect not in BETWEEN:
        kinds = "one row alone can break it" if expectation.expect in ROW_LEVEL else "it is not about one number"
        fix = f"leave `history` out, or take one of {', '.join(sorted(BETWEEN))}."
        yield ("history",), f"{expectation.expect} takes no bounds from history: {kinds}.", fix
    if expectation.on != (Subject.INTERVAL,):
        fix = "write `on: [interval]`, and what else must hold as an expectation of its own."
        yield ("history",), "history is of intervals, and this is also about something else.", fix
    if history is None or history.every is None or pipeline is None or not pipeline.has_intervals:
        return
    output: IntervalsOutput = pipeline.intervals
    if not history.every or history.every % output.interval_length:
        fix = f"the pipeline's intervals are one {output.interval} long: take a multiple of that."
        yield ("history", "every"), "no interval starts there.", fix
