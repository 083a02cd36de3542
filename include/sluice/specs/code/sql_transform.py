"""A transform in SQL, judged by reading its file and never by running it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sluice.specs.code.join_bounds import time_joins
from sluice.specs.code.join_rules import TimeJoins
from sluice.specs.code.scope_rules import UnboundedExpression
from sluice.specs.code.select import Select
from sluice.specs.code.select_rules import unbounded_in, undetermined_in, unknown_columns, unknown_tables, windows_in
from sluice.specs.code.window_rules import WindowCall
from sluice.specs.model.model import PipelineSpec, TopicSpec
from sluice.specs.reading.faults import Fault, SpecFaults
from sluice.specs.reading.reading import Reading, SpecMisfit


@dataclass(frozen=True)
class SqlTransform:
    """The SELECT of a file, as one pipeline uses it. It implements `sluice.specs.code.transforms.TransformFile`.

    Attributes:
        path: of the file.
        pipeline: which uses it.
        reading: the project.
    """

    path: Path
    pipeline: PipelineSpec
    reading: Reading

    @cached_property
    def _select(self) -> Select:
        return Select.read(self.path, self.reading.file(self.path))

    def faults(self) -> Iterator[Fault]:
        """Yield what is wrong in the text."""
        try:
            select = self._select
        except SpecFaults as error:
            yield from error.faults
            return
        yield from undetermined_in(select)
        yield from unknown_tables(select, (*self.pipeline.every_source, *self.pipeline.static))
        if columns := self._columns:
            yield from unknown_columns(select, columns)

    @cached_property
    def _topics(self) -> dict[str, TopicSpec]:
        """The topic of each source that is one, by the source's name; none of a topic that has a fault."""
        topics, sources = self.reading.catalog.topics, self.pipeline.topic_sources
        return {name: topics[source.topic] for name, source in sources.items() if source.topic in topics}

    @cached_property
    def _columns(self) -> dict[str, tuple[str, ...]]:
        """The columns of all tables, by their names; {} where a topic or a name has a fault of its own.

        {} also where a source is a settled table: only its pipeline's transform knows its columns.
        """
        sources, static = self.pipeline.topic_sources, self.pipeline.static
        if self.pipeline.tables or len(self._topics) < len(sources) or sources.keys() & static.keys():
            return {}
        read = {name: (*topic.value.fields, *sources[name].columns) for name, topic in self._topics.items()}
        return {**read, **{name: tuple(each.column_types) for name, each in static.items()}}

    def misfits(self) -> Iterator[SpecMisfit]:
        """Yield where spec and SELECT do not fit: inputs that it does not read."""
        read = {table.name.lower() for table in self._select.tables()}
        for name in self.pipeline.every_source:
            if name not in read:
                message = f"{self.reading.file(self.path)} does not read {name!r}."
                fix = f"write `FROM {name}`, or correct the name."
                if len(self.pipeline.sources) > 1:
                    fix = f"join {name!r}, correct the name, or remove the source."
                yield ("sources", name) if self.pipeline.sources else ("source",), message, fix
        for key in self.pipeline.static:
            if key == self.pipeline.source:
                yield ("static", key), "the topic has this name, too, and a table has one.", "give it another name."
            elif key not in read:
                message = f"{self.reading.file(self.path)} does not read {key!r}."
                yield ("static", key), message, "remove it, or join it."

    def windows(self) -> tuple[WindowCall, ...]:
        """Return the windows that it makes."""
        return windows_in(self._select, self.path)

    def unbounded(self) -> tuple[UnboundedExpression, ...]:
        """Return what it does with all records that a call is given."""
        return tuple(unbounded_in(self._select, tuple(self.pipeline.every_source)))

    def joins(self) -> TimeJoins:
        """Return how far apart in time it joins the records of several sources."""
        event_times = {name: topic.value.event_time for name, topic in self._topics.items()}
        known = len(event_times) > 1 and not self.pipeline.tables
        return time_joins(self._select, self._columns, event_times) if known else TimeJoins()
