"""Which pipelines a proof can be made of, and by which of their outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

from sluice.errors import SpecError
from sluice.proof.generation.shapes import tick_of
from sluice.proof.generation.unmade import obstacles_in
from sluice.specs.model.duration import format_duration
from sluice.specs.model.encoding import UNDER_SCHEMAS
from sluice.specs.model.lanes import Lane
from sluice.specs.model.model import PipelineSpec, TopicSpec
from sluice.specs.model.outputs import DeadLettersOutput, LatestOutput, Output, SinkOutput
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading

_ON_THE_WAY = timedelta(seconds=1)
"""A record that happens when it is sent has arrived by then."""
_Obstacle = tuple[str, str]
"""What stands in the way of a proof, and what to do."""


def covered_outputs(spec: PipelineSpec) -> tuple[Output, ...]:
    """Return the outputs that a proof checks, in their order."""
    return tuple(output for output in spec.every_output if is_covered(output))


def is_covered(output: Output) -> bool:
    """Whether a proof reads it: never what lies outside of Sluice, where the deployment's own things are."""
    return not isinstance(output, SinkOutput) and not (isinstance(output, LatestOutput) and output.store == "postgres")


def refuse_ineligible(spec: PipelineSpec, topics: Mapping[str, TopicSpec]) -> None:
    """Make sure that a proof can be made of a pipeline.

    Raises:
        SpecError: it cannot, for all of these reasons.
    """
    if found := list(_obstacles(spec, topics)):
        reasons, fixes = zip(*found, strict=True)
        raise SpecError(" ".join(reasons), fix=" ".join(dict.fromkeys(fixes)))


def weekly_proofs_can_be_made(reading: Reading) -> Iterator[Finding]:
    """A pipeline that asks for a proof each week is one that a proof can be made of. A rule of `sluice check`."""
    for name, spec in reading.catalog.pipelines.items():
        if spec.prove is not None:
            for message, fix in _obstacles(spec, reading.catalog.topics):
                yield reading.finding(Kind.PIPELINE, name, ("prove",), message, f"{fix} Or remove `prove`.")


def happens_live(spec: PipelineSpec, topics: Mapping[str, TopicSpec]) -> bool:
    """Whether the events of a proof happen when they are sent: where the broker says when a record came.

    Then those of all topics do, or nothing of them would belong together.
    """
    return any(topics[name].value.arrival_time == "broker" for name in spec.topics if name in topics)


def _obstacles(spec: PipelineSpec, topics: Mapping[str, TopicSpec]) -> Iterator[_Obstacle]:
    if spec.table_sources:
        tables = ", ".join(source.table for source in spec.table_sources.values())
        reason = f"{spec.name} reads what other pipelines settle ({tables}), and a proof sends records to topics alone."
        yield reason, "prove the pipelines that settle these tables."
    if spec.lane is Lane.REALTIME:
        reason = (
            f"{spec.name} is in the lane realtime, which shares its driver with no stream, and a proof needs the raw "
            "streams of its topics in the same driver."
        )
        yield reason, "prove it in the lane `latency`: `lane: latency`."
    if all(isinstance(output, DeadLettersOutput) for output in covered_outputs(spec)):
        reason = (
            f"{spec.name} has no output that a proof can read: it reads interval tables, `rows`, `latest` in Delta "
            "tables, `topic` and `dead_letters`."
        )
        yield reason, "prove a pipeline with such an output."
    is_live = happens_live(spec, topics)
    for name, topic in ((name, topics[name]) for name in spec.topics if name in topics):
        yield from obstacles_in(topic, is_live=is_live)
        yield from _untimely(topic, spec.time_of(name).allowed_lateness, is_live=is_live)


def _untimely(topic: TopicSpec, lateness: timedelta, *, is_live: bool) -> Iterator[_Obstacle]:
    """Yield why records would be late that happen when they are sent: by their way, or by a form without seconds."""
    value = topic.value
    tick = tick_of(value.fields[value.event_time]) if value.format not in UNDER_SCHEMAS else _ON_THE_WAY
    if is_live and lateness < (behind := max(tick, _ON_THE_WAY)):
        reason = (
            f"records of {topic.name} come up to {format_duration(behind)} after the event time that they say, and "
            f"later than {format_duration(lateness)} they are late."
        )
        yield reason, "declare a longer `allowed_lateness`, or a form of the event time with seconds."
