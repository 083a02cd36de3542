"""Rules about what pipelines deliver, and where an output stands in its spec."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from sluice.contracts.breach import Loc
from sluice.specs.deployments.secrecy import is_secret
from sluice.specs.model.lanes import HURRIED
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import (
    DeadLettersOutput,
    IntervalsOutput,
    LatestOutput,
    Output,
    SinkOutput,
    TopicOutput,
    WrittenTopic,
)
from sluice.specs.model.topic_shape import TopicShape
from sluice.specs.reading.diagnosis import nearest
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading


def outputs_of(pipeline: PipelineSpec) -> Iterator[tuple[Loc, Output]]:
    """Yield the outputs of a pipeline with their places in its file."""
    if pipeline.output is not None:
        yield ("output",), pipeline.output
    for number, output in enumerate(pipeline.outputs):
        yield ("outputs", number), output


def deliveries(topic: str) -> str:
    """Return the table that keeps what was sent to a topic or sink by its batches, so that a restart repeats none."""
    return f"{topic}_deliveries"


def delivery_tables(outputs: Iterable[Output]) -> set[str]:
    """Return the tables that keep what these outputs have sent."""
    sent = (output for output in outputs if isinstance(output, WrittenTopic | SinkOutput))
    return {deliveries(output_name(output)) for output in sent}


def direct_output(pipeline: PipelineSpec) -> TopicOutput | None:
    """Return the topic output that Spark's own sink can write, without a function for each batch; None: there is none.

    That is for pipelines in a hurry that make records of one topic into records of another, as far as specs say it:
    whether each record makes one row at most, is a matter of the transform.
    """
    outputs = [output for output in pipeline.side_outputs if isinstance(output, TopicOutput)]
    several = len(pipeline.side_outputs) != 1 or len(pipeline.topics) != 1 or pipeline.tables
    judged = pipeline.circuit_breaker is not None or any(output.delivery == "at_most_once" for output in outputs)
    return outputs[0] if pipeline.lane in HURRIED and outputs and not several and not judged else None


def output_name(output: Output) -> str:
    """Return the table, topic or sink of an output by its name."""
    match output:
        case WrittenTopic():
            return output.topic
        case SinkOutput():
            return output.name
        case _:
            return output.table


def written_table(output: Output) -> tuple[str, str]:
    """Return what tells an output's table from every other one, and the key of the spec that names it."""
    match output:
        case WrittenTopic():
            return deliveries(output.topic), "topic"
        case SinkOutput():
            return deliveries(output.name), "name"
        case LatestOutput(store="postgres"):
            return f"{output.connection}: {output.table}", "table"
        case _:
            return output.table, "table"


def live_outputs(pipeline: PipelineSpec) -> dict[str, LatestOutput | TopicOutput]:
    """Return the outputs that hold newest values, by the name of their table or topic."""
    live: dict[str, LatestOutput | TopicOutput] = {}
    for output in pipeline.every_output:
        match output:
            case LatestOutput():
                live[output.table] = output
            case TopicOutput():
                live[output.topic] = output
    return live


def data_alerts_watch_live_outputs(reading: Reading) -> Iterator[Finding]:
    """A data alert is about a `latest` or `topic` output of its pipeline, and has a name of its own."""
    for name, pipeline in reading.catalog.pipelines.items():
        live, names = live_outputs(pipeline), [alert.name for alert in pipeline.alerts]
        for place, alert in enumerate(pipeline.alerts):
            if alert.output not in live:
                message = f"{alert.output!r} is no `latest` or `topic` output of this pipeline."
                fix = nearest(alert.output, live)
                yield reading.finding(Kind.PIPELINE, name, ("alerts", place, "output"), message, fix)
            if alert.name in names[:place]:
                message = f"two alerts are called {alert.name!r}."
                yield reading.finding(Kind.PIPELINE, name, ("alerts", place, "name"), message, "rename one of them.")


def output_columns_are_free(reading: Reading) -> Iterator[Finding]:
    """The time column is not the column by which Sluice partitions."""
    for name, pipeline in reading.catalog.pipelines.items():
        for loc, output in outputs_of(pipeline):
            if isinstance(output, IntervalsOutput) and output.time_column == "interval_start":
                message = "'interval_start' is the column that Sluice partitions by."
                yield reading.finding(Kind.PIPELINE, name, (*loc, "time_column"), message, "name another column.")


def output_conditions_are_about_rows(reading: Reading) -> Iterator[Finding]:
    """Which rows an output takes depends on nothing but the row."""
    for name, pipeline in reading.catalog.pipelines.items():
        for loc, output in outputs_of(pipeline):
            if isinstance(output, DeadLettersOutput) or output.where is None:
                continue
            from sluice.specs.code.condition import condition_faults  # noqa: PLC0415 - sqlglot is slow to import

            for message, fix in condition_faults(output.where):
                yield reading.finding(Kind.PIPELINE, name, (*loc, "where"), message, fix)


def output_topics_are_declared_once(reading: Reading) -> Iterator[Finding]:
    """A topic that is written is declared in one place, by one pipeline, and is none of those that are read."""
    writers: dict[str, list[tuple[str, Loc]]] = defaultdict(list)
    for name, pipeline in reading.catalog.pipelines.items():
        for loc, output in outputs_of(pipeline):
            if isinstance(output, WrittenTopic):
                writers[output.topic].append((name, loc))
                for where, message, fix in _faults_of_topic(reading, pipeline.topics, output):
                    yield reading.finding(Kind.PIPELINE, name, (*loc, *where), message, fix)
    for topic, places in writers.items():
        for name, loc in places if len(places) > 1 else ():
            message = (
                f"{len(places)} outputs write to the topic {topic!r}; readers could not distinguish replays from new "
                "records."
            )
            yield reading.finding(
                Kind.PIPELINE, name, (*loc, "topic"), message, "give every output a topic of its own."
            )


def _faults_of_topic(reading: Reading, read: Collection[str], output: WrittenTopic) -> Iterator[tuple[Loc, str, str]]:
    declared = (Kind.TOPIC, output.topic) in reading.documents
    if output.topic in read:
        message = f"{output.topic!r} is what this pipeline reads; it would read what it writes, for ever."
        yield ("topic",), message, "name another topic."
    elif output.topic in reading.catalog.absent:
        yield ("topic",), *absence(output.topic)
    elif output.create is None and not declared:
        message = f"there is no topic {output.topic!r} in include/topics, and nothing says how to create it."
        near = nearest(output.topic, reading.names(Kind.TOPIC))
        yield ("topic",), message, f"add `create: {{partitions: 4}}` to the output. {near}".strip()
    elif output.create is not None and declared:
        yield ("create",), f"include/topics/{output.topic}.yaml declares the topic already.", "remove `create`."
    elif output.create is None and output.topic not in reading.catalog.topics:
        yield ("topic",), f"the spec of the topic {output.topic!r} is broken.", "repair it."
    if output.create is not None:
        for where, message, fix in shape_faults(reading, output.create):
            yield ("create", *where), message, fix


def absence(topic: str) -> tuple[str, str]:
    """Return what is wrong with the use of a topic that shall be absent, and what to do."""
    return f"include/topics/{topic}.yaml says that the topic shall be absent.", "name another topic, or keep this one."


def shape_faults(reading: Reading, shape: TopicShape) -> Iterator[tuple[Loc, str, str]]:
    """Yield what is wrong with a topic's shape, wherever it is declared: where in it, what, and what to do."""
    for where, _ in shape.written_configs():
        if is_secret(where[-1]):
            yield where, "this is a secret.", "keep it out of the spec."
    for deployment in shape.deployments if Kind.DEPLOYMENT in reading.kinds else ():
        if (Kind.DEPLOYMENT, deployment) not in reading.documents:
            yield ("deployments", deployment), *reading.absent(Kind.DEPLOYMENT, deployment)
