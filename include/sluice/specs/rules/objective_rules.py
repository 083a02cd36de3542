"""Rules about objectives: what is to be fresh needs a limit."""

from __future__ import annotations

from collections.abc import Iterator

from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading
from sluice.specs.rules.output_rules import outputs_of


def objectives_can_be_counted(reading: Reading) -> Iterator[Finding]:
    """An output is fresh as long as nothing waits longer than a deadline: without one it would always be."""
    for name, pipeline in reading.catalog.pipelines.items():
        limits = pipeline.deadlines
        if limits.lag is not None or limits.lag_records is not None or limits.age is not None:
            continue
        outputs = [((*place, "objective"), output.objective) for place, output in outputs_of(pipeline)]
        for place, objective in ((("objective",), pipeline.objective), *outputs):
            if objective is not None and objective.counts != "correct":
                message = "it counts how fresh an output is, and no deadline says when one is stale."
                fix = "add `deadlines: {lag: 10 min}`, or `age`, or `lag_records`; or write `counts: correct`."
                yield reading.finding(Kind.PIPELINE, name, place, message, fix)
