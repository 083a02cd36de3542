"""A trace whose content is hidden: the values of rows keep their form alone. Why a record is refused names no value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sluice.intervals.backfill.trial import RowDifference
from sluice.quality.samples import masked
from sluice.tracing.trace import PipelineTrace


def masked_pipeline(trace: PipelineTrace) -> PipelineTrace:
    """Return what a pipeline made of a record, without the values of its rows."""
    if trace.rows is None:
        return trace
    rows = replace(
        trace.rows,
        differences=tuple(map(_masked_difference, trace.rows.differences)),
        alone=tuple(map(_forms, trace.rows.alone)),
    )
    return replace(trace, rows=rows)


def _masked_difference(row: RowDifference) -> RowDifference:
    return replace(row, key=_forms(row.key), old=_forms(row.old), new=_forms(row.new))


def _forms(values: Mapping[str, Any]) -> dict[str, str | None]:
    return {name: None if value is None else _form(value) for name, value in values.items()}


def _form(value: Any) -> str:  # noqa: ANN401 - any value of JSON
    return masked(value if isinstance(value, str) else json.dumps(value))
