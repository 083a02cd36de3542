"""A pipeline over a few lines, without Kafka or Airflow: for `sluice run`, and for a project's own tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from sluice.clock import Clock, SystemClock
from sluice.errors import SpecError
from sluice.provisioning.importing.sample import FieldSample
from sluice.quality.preview import Preview
from sluice.settings import Settings, StateFolder, settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.load import scan
from sluice.specs.model.encoding import LINES
from sluice.specs.model.model import PipelineSpec, TopicSpec
from sluice.static.places import StaticPlaces
from sluice.storage.folder import folder_at
from sluice.topics.declared_time import read_time
from sluice.topics.declared_value import read_fields

Sample = bytes | Sequence[bytes]
"""One value per line, JSON unless the topic is of lines of text: as a file has them, or one by one."""


def trial(
    pipeline: str,
    sample: Sample | Mapping[str, Sample],
    *,
    arrived_at: datetime | None = None,
    place: Settings | None = None,
) -> Preview:
    """Return the result of validation and transform for records, by the functions of the stream.

    Args:
        pipeline: a file in `include/pipelines`, without its ending.
        sample: of its source; of a pipeline that has several, a sample for each by its name, none for one without.
        arrived_at: when the broker received them; omitted: now, if the records have their own arrival time.
        place: the settings of the project; omitted: those of the environment.

    Raises:
        SpecError: a spec, the transform or the sample is wrong.
        NotReadyError: Spark cannot start.
    """
    from sluice.spark.checks.sample import preview  # noqa: PLC0415  Spark is slow to import, and bad input needs none
    from sluice.spark.records.pipeline import sources_of  # noqa: PLC0415  the same
    from sluice.spark.session.scratch import scratch_session  # noqa: PLC0415  the same

    place = place or settings()
    specs = scan(place.home / "include")
    spec, catalog = specs.pipeline(pipeline), specs.catalog
    expected = {name: catalog.expected_of_records(pipeline, name) for name in spec.topic_sources}
    topics = {topic: in_lines(catalog.topics[topic]) for topic in spec.topics}
    lines, clock = _by_topic(spec, sample), SystemClock()
    arrivals = {topic: broker_time(bare, arrived_at, clock, lines[topic]) for topic, bare in topics.items()}
    with scratch_session(
        f"sluice-run-{spec.name}",
        spec.resources,
        jars=place.jars / "spark",
        transforms=place.home / "spark_jobs",
        overrides=spec.spark,
    ) as spark:
        sources = sources_of(spec, topics, expected)
        places = _static_places(place, catalog)
        return preview(spark, place.home, spec, sources, lines, arrived_at=arrivals, places=places)


def _static_places(place: Settings, catalog: Catalog) -> StaticPlaces:
    deployment = catalog.deployments.get(place.deployment)
    storage = None if deployment is None else deployment.storage
    folder = StateFolder(place.state, folder_at(storage) if storage else None)
    return StaticPlaces(place.home / "include", folder.table)


def refuse_tables(spec: PipelineSpec) -> None:
    """Make sure that all that a pipeline reads can be a sample.

    Raises:
        SpecError: it reads a settled table, whose columns nothing declares.
    """
    if spec.table_sources:
        tables = " and ".join(source.table for source in spec.table_sources.values())
        raise SpecError(
            f"{spec.name} reads the rows of {tables}, and a sample is lines of topics.",
            fix="let a driver settle it, or call its transform in a test of your own.",
        )


def _by_topic(spec: PipelineSpec, sample: Sample | Mapping[str, Sample]) -> dict[str, Sequence[bytes]]:
    """Return the lines of each topic.

    Raises:
        SpecError: it is not said whose they are, or there could be none.
    """
    refuse_tables(spec)
    sources = spec.topic_sources
    if not isinstance(sample, Mapping):
        if len(sources) > 1:
            raise SpecError(
                f"{spec.name} reads {', '.join(sources)}, and one sample does not say whose it is.",
                fix="give a sample for each by its name.",
            )
        sample = dict.fromkeys(sources, sample)
    if unknown := sorted(sample.keys() - sources.keys()):
        raise SpecError(f"{spec.name} has no source {unknown[0]!r}; it reads {', '.join(sources)}.", fix="name one.")
    each = {source.topic: sample.get(name, ()) for name, source in sources.items()}
    return {topic: own.splitlines() if isinstance(own, bytes) else own for topic, own in each.items()}


def in_lines(topic: TopicSpec) -> TopicSpec:
    """Return the topic as if its values were lines: lines of text as they are, all others as JSON without frames."""
    if topic.value.format in LINES:
        return topic
    of_others: dict[str, object] = {"framing": "none", "schemas": {}, "version": None, "message": None, "written": {}}
    bare = topic.value.model_copy(update={"format": "json", **of_others})
    return topic.model_copy(update={"value": bare})


def broker_time(topic: TopicSpec, arrived_at: datetime | None, clock: Clock, lines: Sequence[bytes] = ()) -> datetime:
    """Return the broker's timestamp of every line in UTC: now, unless the caller passes another.

    A record with an arrival time of its own is compared with it: it cannot have arrived later than that.

    Raises:
        SpecError: the topic takes its arrival time from the broker, and the caller has passed none.
    """
    if arrived_at is not None:
        return arrived_at.astimezone(UTC)
    if topic.value.arrival_time == "broker":
        raise SpecError(
            f"the topic {topic.name} takes its arrival time from the broker, and a file has none.",
            fix=f"pass the time at which the broker received the lines: --arrived-at {_proposed(topic, lines)}.",
        )
    return clock.now()


def _proposed(topic: TopicSpec, lines: Sequence[bytes]) -> str:
    """Return the first whole second at which all lines of a sample have happened; without a sample, the form."""
    name, times = topic.value.event_time, FieldSample()
    for line in lines:
        if (at := read_time((read_fields(line, topic.value) or {}).get(name), topic.value.fields[name])) is not None:
            times.add(at.isoformat(), 0)
    if times.newest is None:
        return f"YYYY-MM-DDTHH:MM:SSZ, at or after their newest {name!r}"
    second = times.newest.astimezone(UTC).replace(microsecond=0)
    second += timedelta(seconds=second < times.newest)
    return f"{second:%Y-%m-%dT%H:%M:%SZ} (the newest {name!r} in the sample) or later"
