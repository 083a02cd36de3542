"""What the process of a proof asks a batch, and what that answers: the rows that outputs must hold, and do hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from sluice.proof.observations import JudgedRecord, ObservedRows


@dataclass(frozen=True)
class OpenCut:
    """A moment at which tables of open rows were looked at, before the end closed them all.

    Attributes:
        ends: up to which offset of each partition each topic was read then.
        settled_until: up to where intervals were settled right after; None: none was.
        versions: of the tables, by name.
    """

    ends: Mapping[str, Mapping[int, int]]
    settled_until: datetime | None
    versions: Mapping[str, int]


@dataclass(frozen=True)
class RowsAnswer:
    """What a batch says of the outputs beside the interval table.

    Attributes:
        outputs: by their names; of topics only what is due, for the batch does not read them.
        judged: what validation makes of each record; None: nobody knows.
        uncovered: outputs of which nothing can be said, with the reason.
    """

    outputs: tuple[ObservedRows, ...] = ()
    judged: tuple[JudgedRecord, ...] | None = ()
    uncovered: Mapping[str, str] = field(default_factory=dict)


@cache
def _cut() -> TypeAdapter[OpenCut]:
    return TypeAdapter(OpenCut)


@cache
def _answer() -> TypeAdapter[RowsAnswer]:
    return TypeAdapter(RowsAnswer)


def write_cut(file: Path, cut: OpenCut) -> None:
    """Write down a moment."""
    file.write_bytes(_cut().dump_json(cut))


def read_cut(file: Path) -> OpenCut:
    """Read it back."""
    return _cut().validate_json(file.read_bytes())


def write_answer(file: Path, answer: RowsAnswer) -> None:
    """Write down what was found."""
    file.write_bytes(_answer().dump_json(answer))


def read_answer(file: Path) -> RowsAnswer:
    """Read it back."""
    return _answer().validate_json(file.read_bytes())
