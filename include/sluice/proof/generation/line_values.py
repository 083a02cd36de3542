"""Records as lines of text: columns with a delimiter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from sluice.proof.generation.json_values import JsonWriting
from sluice.proof.generation.shapes import FieldShape
from sluice.proof.generation.writing import MARK, Tree
from sluice.specs.model.model import TopicValue
from sluice.values.delimited import join_line


@dataclass(frozen=True)
class ColumnWriting:
    """Writes columns.

    Attributes:
        value: the declaration.
    """

    value: TopicValue

    @cached_property
    def shapes(self) -> Mapping[str, FieldShape]:
        """See `ValueWriting`: a line has what JSON has, without anything inside."""
        return JsonWriting(self.value).shapes

    @property
    def takes_marks(self) -> bool:
        """See `ValueWriting`: a column that is no field can hold anything."""
        return bool(self._further)

    @cached_property
    def _further(self) -> list[str]:
        return [name for name in self.value.line_fields or () if name not in self.value.fields]

    def write(self, tree: Tree, mark: int | None = None) -> bytes:
        """See `ValueWriting`."""
        held: dict[str, object] = {name: f"{MARK}-{mark}" for name in self._further if mark is not None}
        held |= tree
        parts = [line_text(held[name]) if name in held else None for name in self.value.line_fields or ()]
        return join_line(parts, self.value.delimiter or ",").encode()


def line_text(content: object) -> str:
    """Return a content as it stands in a line."""
    if isinstance(content, bool):
        return "true" if content else "false"
    return f"{content:f}" if isinstance(content, Decimal) else str(content)
