"""Rules about tables that pipelines read: settled ones exist and no circle leads through them, raw ones last.

Of the lengths of intervals there is none: hours lie in days, and a day is complete for the hours that are made of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta

from sluice.contracts.breach import Loc
from sluice.settling.retention import least_retention
from sluice.settling.rules import SettlingRules
from sluice.specs.expectations.set_level import Own
from sluice.specs.model.duration import format_duration
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import IntervalsOutput
from sluice.specs.model.start import Edge
from sluice.specs.reading.diagnosis import nearest
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import ANY, Finding, Reading, SpecReference
from sluice.specs.rules.output_rules import outputs_of

_OF_RECORDS = {Own.FRESH, Own.OFFSETS}
"""Expectations of intervals about what their records have beside a value, which rows of a table have not."""


def table_references(reading: Reading) -> Iterator[SpecReference]:
    """Yield where pipelines name others by the tables that these settle."""
    makers = _tables_in_texts(reading)
    for named in reading.references(Kind.PIPELINE, ("sources", ANY, "table")):
        if named.name in makers:
            yield replace(named, name=makers[named.name])


def read_tables_are_settled(reading: Reading) -> Iterator[Finding]:
    """What a pipeline reads as `table` is the interval table of a pipeline; one whose spec is broken exists."""
    known = _tables_in_texts(reading)
    raw = {topic.raw.table: name for name, topic in reading.catalog.topics.items()}
    other = {o.table for p in reading.catalog.pipelines.values() for o in p.side_outputs if hasattr(o, "table")}
    for name, pipeline in reading.catalog.pipelines.items():
        for key, source in pipeline.table_sources.items():
            table = source.table
            if table in known:
                continue
            message, fix = f"no pipeline settles a table {table!r}.", nearest(table, sorted(known))
            if table in raw:
                message = f"{table!r} is the raw table of the topic {raw[table]}, and no settled one."
                fix = f"write `topic: {raw[table]}` with its `time` instead."
            elif table in other:
                message, fix = f"{table!r} is no interval table, so nothing says when it is complete.", ""
            yield reading.finding(Kind.PIPELINE, name, ("sources", key, "table"), message, fix)


def raw_tables_last(reading: Reading) -> Iterator[Finding]:
    """A raw table keeps records for as long as an interval is open that is made of them, and can be verified."""
    for name, topic in reading.catalog.topics.items():
        kept = topic.raw.retention
        needed = [(_needed(pipeline, name), pipeline) for pipeline in reading.catalog.readers.get(name, ())]
        if kept == "forever" or not needed:
            continue
        (least, how), pipeline = max(needed, key=lambda need: need[0][0])
        if kept < least:
            message = (
                f"records would go after {format_duration(kept)}, and an interval of the pipeline {pipeline.name} "
                f"needs them for {format_duration(least)} until it is settled and verified: {how}."
            )
            fix = f"write `retention: {format_duration(least)}` or more."
            yield reading.finding(Kind.TOPIC, name, ("raw", "retention"), message, fix)


def _needed(pipeline: PipelineSpec, topic: str) -> tuple[timedelta, str]:
    """Return how long a pipeline needs a topic's records, and how that is made up."""
    if not pipeline.has_intervals:
        lateness = pipeline.time_of(topic).allowed_lateness
        return lateness, f"`allowed_lateness` {format_duration(lateness)}"
    rules = SettlingRules.of(pipeline, topic)
    back = rules.reach_back
    parts = {
        "its length": rules.length,
        "`lookahead`": rules.lookahead,
        "`allowed_lateness`": rules.allowed_lateness,
        "`arrival_disorder`": rules.arrival_disorder,
        f"{back // rules.lookback if rules.lookback else 0} times `lookback`": back,
    }
    how = " + ".join(f"{part} {format_duration(length)}" for part, length in parts.items() if length)
    return least_retention(rules), how


def table_readers_only_settle(reading: Reading) -> Iterator[Finding]:
    """A pipeline that reads a settled table settles one of its own: there is no stream of rows that could go on."""
    for name, pipeline in reading.catalog.pipelines.items():
        if not pipeline.tables:
            continue
        for loc, output in outputs_of(pipeline):
            if not isinstance(output, IntervalsOutput):
                what = f"an output of the kind {output.kind} takes records as they come"
                message = f"{what}, and this pipeline reads a settled table."
                fix = "declare it in a pipeline over topics alone; this one takes an `intervals` output."
                yield reading.finding(Kind.PIPELINE, name, (*loc, "kind"), message, fix)
        if pipeline.start is not Edge.EARLIEST:
            message = "it says where topics are begun, and a settled table is read from its first interval."
            yield reading.finding(Kind.PIPELINE, name, ("start",), message, "remove it.")


def nothing_reads_itself(reading: Reading) -> Iterator[Finding]:
    """No circle leads over tables and topics from a pipeline back to itself: it would never be complete."""
    readers = _read_by(reading)
    for circle in _circles(readers):
        first = reading.catalog.pipelines[circle[0]]
        way = " → ".join([*circle, circle[0]])
        message = f"it reads what is made of its own rows: {way}."
        loc = _place(reading, first, circle[-1])
        yield reading.finding(Kind.PIPELINE, first.name, loc, message, "take one of these sources away.")


def tables_have_no_records(reading: Reading) -> Iterator[Finding]:
    """What is expected of the records of an interval is not expected of rows, where there are no others."""
    for name, suite in reading.catalog.expectations.items():
        pipeline = reading.catalog.pipelines.get(suite.pipeline)
        if pipeline is None or pipeline.topics:
            continue
        for position, expectation in enumerate(suite.expectations):
            if expectation.expect in _OF_RECORDS:
                message = f"{expectation.expect} is about records, and {pipeline.name} reads settled tables alone."
                fix = "declare it in the suite of the pipeline that reads the topic."
                yield reading.finding(Kind.SUITE, name, ("expectations", position, "expect"), message, fix)


def _tables_in_texts(reading: Reading) -> Mapping[str, str]:
    """Return the interval tables and their pipelines, by the texts of the specs, so that a fault of one hides none."""
    found = {table: pipeline.name for table, pipeline in reading.catalog.settled_tables.items()}
    for (kind, name), document in reading.documents.items():
        data = document.data if kind is Kind.PIPELINE and isinstance(document.data, dict) else {}
        listed = data.get("outputs")
        for output in [data.get("output"), *(listed if isinstance(listed, list) else [])]:
            if isinstance(output, dict) and output.get("kind", "intervals") == "intervals":
                found.setdefault(str(output.get("table")), name)
    return found


def _read_by(reading: Reading) -> dict[str, list[str]]:
    """Return the pipelines whose rows each pipeline reads, through a table or a topic.

    That none writes the topic that it reads is a rule of its own.
    """
    pipelines, settled = reading.catalog.pipelines, reading.catalog.settled_tables
    writers = {output.topic: name for name, pipeline in pipelines.items() for output in pipeline.written_topics}
    made_of: dict[str, list[str]] = {}
    for name, pipeline in pipelines.items():
        made_of[name] = [writers[topic] for topic in pipeline.topics if writers.get(topic, name) != name]
        tables = (source.table for source in pipeline.table_sources.values())
        made_of[name] += [settled[table].name for table in tables if table in settled]
    return made_of


def _circles(made_of: Mapping[str, list[str]]) -> Iterator[tuple[str, ...]]:
    """Yield each circle once, from its first pipeline by name; the next one reads the one before it."""
    done: set[str] = set()
    for start in sorted(made_of):
        way = _way_back(start, made_of, done)
        if way:
            done |= {*way}
            yield (start, *reversed(way[1:]))


def _way_back(start: str, made_of: Mapping[str, list[str]], done: set[str]) -> list[str]:
    """Return the pipelines from one over what it is made of back to itself; [] if no way leads there."""
    waiting: list[list[str]] = [[start]] if start not in done else []
    seen: set[str] = set()
    while waiting:
        way = waiting.pop(0)
        for maker in made_of[way[-1]]:
            if maker == start:
                return way
            if maker not in seen:
                seen.add(maker)
                waiting.append([*way, maker])
    return []


def _place(reading: Reading, pipeline: PipelineSpec, maker: str) -> Loc:
    """Return where a pipeline names what another one makes."""
    made = reading.catalog.pipelines[maker]
    topics = {output.topic for output in made.written_topics}
    for key, source in pipeline.table_sources.items():
        if made.has_intervals and source.table == made.intervals.table:
            return "sources", key, "table"
    for key, topic_source in pipeline.topic_sources.items():
        if topic_source.topic in topics:
            return ("source",) if pipeline.source is not None else ("sources", key, "topic")
    return ("sources",)
