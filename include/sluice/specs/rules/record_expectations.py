"""Rules about expectations that hold for each record: one record alone has to be enough to judge them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sluice.contracts.breach import Loc
from sluice.specs.expectations.model import Expectation, Subject
from sluice.specs.expectations.row_level import FILTER_EXAMPLE, FILTER_QUERY, ROW_LEVEL
from sluice.specs.expectations.strftime import text_format
from sluice.specs.model.model import PipelineSpec, ValueField
from sluice.specs.model.sources import TableSource
from sluice.specs.reading.diagnosis import nearest
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading

_ELSEWHERE = "leave `record` out of its `on`"


def records_can_be_judged(reading: Reading) -> Iterator[Finding]:
    """What holds for records is about one record and the fields of its topic."""
    for name, suite in reading.catalog.expectations.items():
        pipeline = reading.catalog.pipelines.get(suite.pipeline)
        if pipeline is None:
            continue  # a fault of its own
        for position, expectation in enumerate(suite.expectations):
            if Subject.RECORD in expectation.on:
                for loc, message, fix in _faults_in(reading, pipeline, expectation):
                    yield reading.finding(Kind.SUITE, name, ("expectations", position, *loc), message, fix)


def _faults_in(reading: Reading, pipeline: PipelineSpec, expectation: Expectation) -> Iterator[tuple[Loc, str, str]]:
    sources, source = pipeline.every_source, expectation.source
    if source is not None and source not in sources:
        yield ("source",), f"the pipeline {pipeline.name!r} has no source {source!r}.", nearest(source, sources)
        return
    if source is None and len(sources) > 1:
        message = f"the pipeline {pipeline.name!r} has several sources, and this does not say whose records are meant."
        yield ("source",), message, f"add `source: <name>`: {' or '.join(sources)}."
        return
    judged = next(iter(sources.values())) if source is None else sources[source]
    if isinstance(judged, TableSource):
        message = f"{judged.table!r} is a settled table, whose rows are no records."
        yield ("on",), message, "declare it in the suite of the pipeline that makes this table."
        return
    topic = reading.catalog.topics.get(judged.topic)
    if topic is not None:  # else a fault of its own
        yield from _faults(expectation, topic.value.fields)


def _faults(expectation: Expectation, fields: Mapping[str, ValueField]) -> Iterator[tuple[Loc, str, str]]:
    if expectation.expect not in ROW_LEVEL:
        message = f"{expectation.expect} is about many rows, and a record is judged alone."
        yield ("expect",), message, f"{_ELSEWHERE}, or take one of {', '.join(sorted(ROW_LEVEL))}."
        return
    given = expectation.kwargs
    for key, column in _columns(expectation):
        if column not in fields:
            message = f"the topic has no field {column!r}; a record is judged by its topic's fields."
            yield ("kwargs", key), message, nearest(column, fields)
    if "mostly" in given:
        fix = "remove it, or declare the share in an expectation of its own on the table."
        yield ("kwargs", "mostly"), "a share of many rows cannot hold for one record.", fix
    yield from faults_of_filters(expectation, "of records", "a record is judged alone", _ELSEWHERE)
    if isinstance(text := given.get("strftime_format"), str):
        try:
            text_format(text)
        except ValueError as error:
            yield ("kwargs", "strftime_format"), f"records cannot be read by {text!r}: {error}.", ""


def faults_of_filters(
    expectation: Expectation, whose: str, judged: str, elsewhere: str
) -> Iterator[tuple[Loc, str, str]]:
    """Yield why the rows that an expectation picks out cannot be picked by Spark, one by one.

    Args:
        expectation: with a condition or a query.
        whose: the rows, as in "of records".
        judged: why more is not possible.
        elsewhere: what else to do.
    """
    given = expectation.kwargs
    if given.get("row_condition") is not None and given.get("condition_parser") != "spark":
        message = f"{whose}, a condition can only be Spark's."
        yield ("kwargs", "row_condition"), message, "write it in Spark SQL, and `condition_parser: spark` beside it."
    query = given.get("unexpected_rows_query")
    if isinstance(query, str) and not FILTER_QUERY.fullmatch(query):
        message = f"the query does more than to pick rows out, and {judged}."
        yield ("kwargs", "unexpected_rows_query"), message, f"write `{FILTER_EXAMPLE}`, or {elsewhere}."


def _columns(expectation: Expectation) -> Iterator[tuple[str, str]]:
    for key in ("column", "column_A", "column_B", "column_list"):
        for column in _strings(expectation.kwargs.get(key)):
            yield key, column


def _strings(value: object) -> list[str]:
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
