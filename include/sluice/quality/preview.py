"""A preview: the results of a pipeline for a few sample records, line by line and row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sluice.quality.reasons import Outcome, Reason


@dataclass(frozen=True)
class JudgedLine:
    """One line of a source's sample after validation.

    Attributes:
        number: the line's number, from 1.
        outcome: what validation makes of it.
        reason: why it is quarantined; else None.
        fields: the declared fields as JSON values; None where the line has none, or none that reads as its type.
        text: the line itself; bytes that are no UTF-8 are shown as replacement characters.
        detail: which field is at fault and what is wrong with it; None where it is no single field.
        source: whose sample it is of; empty if the pipeline has only one.
    """

    number: int
    outcome: Outcome
    reason: Reason | None
    fields: Mapping[str, Any]
    text: str
    detail: str | None = None
    source: str = ""


@dataclass(frozen=True)
class Preview:
    """What a pipeline makes of a sample.

    Attributes:
        pipeline: its name.
        lines: every line of each source's sample, in order.
        columns: the transform's output: column → Spark's name of its type.
        rows: the transform's output over the good lines, as JSON values; ordered by time column, then left to right.
    """

    pipeline: str
    lines: tuple[JudgedLine, ...]
    columns: Mapping[str, str]
    rows: tuple[Mapping[str, Any], ...]

    def of(self, source: str) -> Preview:
        """Return it with the lines of one source alone; those of the only one bear no name."""
        return replace(self, lines=tuple(line for line in self.lines if line.source in ("", source)))

    @property
    def outcomes(self) -> Mapping[Outcome, int]:
        """Lines per outcome, all outcomes named."""
        counted = Counter(line.outcome for line in self.lines)
        return {outcome: counted[outcome] for outcome in Outcome}

    @property
    def reasons(self) -> Mapping[Reason, int]:
        """Quarantined lines per reason, in the order of the catalogue; only reasons that occur."""
        counted = Counter(line.reason for line in self.lines)
        return {reason: counted[reason] for reason in Reason if counted[reason]}
