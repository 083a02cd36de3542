"""Which pipelines a proof can be made of, and by which of their outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sluice.errors import SpecError
from sluice.specs.model.fields import FieldType
from sluice.specs.model.lanes import Lane
from sluice.specs.model.model import PipelineSpec, TopicSpec
from sluice.specs.model.outputs import DeadLettersOutput, LatestOutput, Output, SinkOutput
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading

GENERATED_TYPES = frozenset(
    {
        *(FieldType.STRING, FieldType.LONG, FieldType.INTEGER, FieldType.DOUBLE, FieldType.BOOLEAN),
        FieldType.TIMESTAMP,
    }
)
"""Types of fields whose values a proof can make."""
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


def _obstacles(spec: PipelineSpec, topics: Mapping[str, TopicSpec]) -> Iterator[_Obstacle]:
    if len(spec.topic_sources) != 1 or spec.table_sources:
        reason = (
            f"{spec.name} reads {len(spec.topic_sources)} topics and {len(spec.table_sources)} tables, and a proof "
            "sends to one topic."
        )
        yield reason, "prove a pipeline that reads one topic."
    if spec.lane is Lane.REALTIME:
        reason = (
            f"{spec.name} is in the lane realtime, which shares its driver with no stream, and a proof needs the raw "
            "stream of its topic in the same driver."
        )
        yield reason, "prove it in the lane `latency`: `lane: latency`."
    if all(isinstance(output, DeadLettersOutput) for output in covered_outputs(spec)):
        reason = (
            f"{spec.name} has no output that a proof can read: it reads interval tables, `rows`, `latest` in Delta "
            "tables, `topic` and `dead_letters`."
        )
        yield reason, "prove a pipeline with such an output."
    for topic in spec.topics:
        if topic in topics:
            yield from _unmade(topics[topic])


def _unmade(topic: TopicSpec) -> Iterator[_Obstacle]:
    """Yield why the records of a topic cannot be made."""
    if topic.value.format != "json" or topic.value.framing != "none":
        yield (
            f"the topic {topic.name} is in {topic.value.format}, and a proof makes bare JSON only.",
            "prove a pipeline over a topic in JSON.",
        )
    for name, field in topic.value.fields.items():
        if field.required and field.type not in GENERATED_TYPES:
            yield (
                f"the field {name} of {topic.name} is required and {field.type}, which a proof cannot make.",
                "prove a pipeline over a topic whose required fields are texts, numbers, booleans or times.",
            )
