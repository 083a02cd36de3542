"""The objectives that specs declare, each of one output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sluice.specs.catalog.catalog import Catalog
from sluice.specs.catalog.streams import streams_of
from sluice.specs.model.deadlines import Objective, StreamDeadlines
from sluice.specs.model.outputs import Output, SinkOutput, WrittenTopic


@dataclass(frozen=True)
class DeclaredObjective:
    """An output with an objective.

    Attributes:
        pipeline: whose output it is.
        output: its table, or `topic:<name>` or `sink:<name>`.
        stream: the stream that fills it.
        unit: the driver of that stream.
        owner: of the pipeline.
        objective: what is declared.
        limits: what says when it is stale.
    """

    pipeline: str
    output: str
    stream: str
    unit: str
    owner: str
    objective: Objective
    limits: StreamDeadlines

    @property
    def name(self) -> str:
        """Unique in a project: `<pipeline>/<output>`."""
        return f"{self.pipeline}/{self.output}"


def declared_objectives(catalog: Catalog) -> Iterator[DeclaredObjective]:
    """Yield the objective of each output that has one, by pipeline."""
    for name, pipeline in sorted(catalog.pipelines.items()):
        for stream in streams_of(pipeline):
            for output in stream.outputs:
                if (objective := output.objective or pipeline.objective) is not None:
                    named = _name(output), stream.name, pipeline.driver, pipeline.owner
                    yield DeclaredObjective(name, *named, objective, pipeline.deadlines)


def _name(output: Output) -> str:
    if isinstance(output, WrittenTopic):
        return f"topic:{output.topic}"
    return f"sink:{output.name}" if isinstance(output, SinkOutput) else output.table
