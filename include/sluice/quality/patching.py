"""A patch for the records of a case, as it is declared in the spec of their topic."""

from __future__ import annotations

import math
from collections.abc import Iterator

import yaml

from sluice.quality.cases import Case
from sluice.specs.model.patches import Patch, Replacement


def patches_for(case: Case, replace: tuple[Replacement, ...]) -> tuple[Patch, ...]:
    """Return a patch of all records of a case, for each topic id: one that is created again has another."""
    return tuple(
        Patch(
            why=case.events[0].why,
            topic_id=topic_id,
            records={
                partition: tuple(first if first == last else f"{first}-{last}" for first, last in ranges)
                for partition, ranges in sorted(parts.items())
            },
            replace=replace,
        )
        for topic_id, parts in sorted(case.positions.ranges.items())
    )


def declaration(patches: tuple[Patch, ...]) -> str:
    """Return the lines to add to the key `value` of a topic's spec."""
    return "\n".join(["  patches:", *(line for patch in patches for line in _lines(patch))])


def _lines(patch: Patch) -> Iterator[str]:
    yield f"    - why: {_quoted(patch.why)}"
    yield f"      topic_id: {_quoted(patch.topic_id)}"
    yield "      records:"
    for partition, offsets in patch.records.items():
        yield f"        {partition}: [{', '.join(map(str, offsets))}]"
    yield "      replace:"
    for each in patch.replace:
        yield f"        - {{pattern: {_quoted(each.pattern)}, by: {_quoted(each.by)}}}"


def _quoted(text: str) -> str:
    return yaml.safe_dump(text, default_style='"', allow_unicode=True, width=math.inf).rstrip("\n")
