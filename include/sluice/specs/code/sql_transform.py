"""A transform in SQL, judged by reading its file and never by running it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sluice.specs.code.scope_rules import UnboundedExpression
from sluice.specs.code.select import Select
from sluice.specs.code.select_rules import unbounded_in, undetermined_in, unknown_columns, unknown_tables, windows_in
from sluice.specs.code.window_rules import WindowCall
from sluice.specs.model.model import PipelineSpec
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
        pipeline, topic = self.pipeline, self.reading.catalog.topics.get(self.pipeline.source)
        yield from undetermined_in(select)
        yield from unknown_tables(select, (pipeline.source, *pipeline.static))
        if topic is not None and topic.name not in pipeline.static:
            static = {name: tuple(each.columns) for name, each in pipeline.static.items()}
            yield from unknown_columns(select, {topic.name: tuple(topic.value.fields), **static})

    def misfits(self) -> Iterator[SpecMisfit]:
        """Yield where spec and SELECT do not fit: inputs that it does not read."""
        read = {table.name.lower() for table in self._select.tables()}
        if self.pipeline.source not in read:
            message = f"{self.reading.file(self.path)} does not read {self.pipeline.source!r}."
            yield ("source",), message, f"write `FROM {self.pipeline.source}`, or correct the name."
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
        return tuple(unbounded_in(self._select, self.pipeline.source))
