"""Rules about what pipelines read: the names of sources, the columns beside a value, and how far a source is read."""

from __future__ import annotations

from collections.abc import Iterator

from sluice.specs.model.outputs import IntervalsOutput
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading
from sluice.specs.rules.output_rules import outputs_of


def sources_have_names_of_their_own(reading: Reading) -> Iterator[Finding]:
    """A transform takes sources and static inputs by their names, so no two of them share one."""
    for name, pipeline in reading.catalog.pipelines.items():
        for key in (each for each in pipeline.sources if each in pipeline.static):
            message = f"the static input {key!r} has this name, too, and a transform could not tell them apart."
            yield reading.finding(Kind.PIPELINE, name, ("sources", key), message, "rename one of the two.")


def carried_tables_have_names_of_their_own(reading: Reading) -> Iterator[Finding]:
    """A transform takes carried tables by their names, beside static inputs and sources."""
    for name, pipeline in reading.catalog.pipelines.items():
        for loc, output in outputs_of(pipeline):
            for key in output.carries if isinstance(output, IntervalsOutput) else ():
                what = "static input" if key in pipeline.static else "source" if key in pipeline.every_source else ""
                if what:
                    message = f"a {what} is named {key!r}, too, and the transform could not tell them apart."
                    yield reading.finding(
                        Kind.PIPELINE, name, (*loc, "carries", key), message, "rename one of the two."
                    )
            if isinstance(output, IntervalsOutput) and output.carries and pipeline.is_sql:
                message = f"{pipeline.transform} is one SELECT, which returns rows and no table to hand on."
                fix = "write the transform in Python: `return rows, " + ", ".join(output.carries) + "`."
                yield reading.finding(Kind.PIPELINE, name, (*loc, "carries"), message, fix)


def source_columns_are_free(reading: Reading) -> Iterator[Finding]:
    """What a record has beside its value gets a column that its value has not."""
    for name, pipeline in reading.catalog.pipelines.items():
        for key, source in pipeline.topic_sources.items():
            topic = reading.catalog.topics.get(source.topic)
            fields = {} if topic is None else topic.value.fields  # a topic that is not there is a fault of its own
            for column in (each for each in source.columns if each in fields):
                message = f"the topic {source.topic} has a field {column!r}, and a column holds one of the two."
                where = ("sources", key, "columns", column)
                yield reading.finding(Kind.PIPELINE, name, where, message, "give the column another name.")


def only_intervals_reach_beyond(reading: Reading) -> Iterator[Finding]:
    """`lookback` and `lookahead` say what the rows of an interval are made of, which needs intervals."""
    for name, pipeline in reading.catalog.pipelines.items():
        for key, source in () if pipeline.has_intervals else pipeline.sources.items():
            for bound in ("lookback", "lookahead"):
                if getattr(source, bound) is not None:
                    message = "it says how far beyond an interval is read, and the pipeline has no `intervals` output."
                    where = ("sources", key, bound)
                    yield reading.finding(Kind.PIPELINE, name, where, message, "remove it, or add such an output.")
