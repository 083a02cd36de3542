"""All specs of a project, together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from sluice.errors import SpecError
from sluice.specs.catalog.stamping import bounded
from sluice.specs.catalog.streams import DeclaredStream, raw_stream, raw_stream_of, streams_of, topic_of_raw
from sluice.specs.deployments.deployment import DeploymentSpec
from sluice.specs.deployments.mirror import MirrorSpec
from sluice.specs.expectations.model import Expectation, ExpectationsSpec, Subject
from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.model.access import PrincipalSpec
from sluice.specs.model.alerting import AlertPolicySpec
from sluice.specs.model.deadlines import UNDECLARED, StreamDeadlines
from sluice.specs.model.model import PipelineSpec, TopicSpec
from sluice.specs.model.schedule import ALL_THE_TIME, RunPlan
from sluice.specs.model.topic_shape import AbsentTopic, TopicShape


@dataclass(frozen=True)
class Unit:
    """The streams that share a driver: one key, attempt, generation and stop; verdicts stay per stream.

    Attributes:
        name: the driver's name in the specs.
        topics: names of the topics whose raw tables it fills.
        pipelines: names of the pipelines that it runs.
        side_streams: names of the further streams of these pipelines.
        plan: when its driver is to run.
    """

    name: str
    topics: tuple[str, ...]
    pipelines: tuple[str, ...]
    side_streams: tuple[str, ...] = ()
    plan: RunPlan = ALL_THE_TIME

    @property
    def streams(self) -> tuple[str, ...]:
        """Names of streams: those of raw tables, the pipelines' own, then the further ones."""
        return (*map(raw_stream, self.topics), *self.pipelines, *self.side_streams)


@dataclass(frozen=True)
class Catalog:
    """Specs by name. Built by `sluice.specs.load`, which guarantees that every reference resolves.

    Attributes:
        absent: topics that there shall no longer be.
        doubtful_suites: files of suites that are broken, with the pipeline that each guards; None where that is not
            certain. They are here so that no pipeline loses its gate by a slip in a file.
        alerts: who is notified of what, by deployment.
        users: every principal whose own file is sound. While another spec is broken, what `access` needs is unknown,
            and processes connect as before.
    """

    topics: Mapping[str, TopicSpec] = field(default_factory=dict)
    pipelines: Mapping[str, PipelineSpec] = field(default_factory=dict)
    feeds: Mapping[str, FeedSpec] = field(default_factory=dict)
    deployments: Mapping[str, DeploymentSpec] = field(default_factory=dict)
    expectations: Mapping[str, ExpectationsSpec] = field(default_factory=dict)
    access: Mapping[str, PrincipalSpec] = field(default_factory=dict)
    doubtful_suites: Mapping[str, str | None] = field(default_factory=dict)
    absent: Mapping[str, AbsentTopic] = field(default_factory=dict)
    users: Mapping[str, PrincipalSpec] = field(default_factory=dict)
    alerts: Mapping[str, AlertPolicySpec] = field(default_factory=dict)
    mirrors: Mapping[str, MirrorSpec] = field(default_factory=dict)

    @property
    def interval_pipelines(self) -> Mapping[str, PipelineSpec]:
        """The pipelines that close intervals: those that have a ledger, backfills and a gate."""
        return {name: pipeline for name, pipeline in self.pipelines.items() if pipeline.has_intervals}

    @cached_property
    def streams(self) -> Mapping[str, DeclaredStream]:
        """All streams by name."""
        of_pipelines = (stream for pipeline in self.pipelines.values() for stream in streams_of(pipeline))
        return {stream.name: stream for stream in (*map(raw_stream_of, self.topics.values()), *of_pipelines)}

    @cached_property
    def mirrored(self) -> tuple[tuple[DeclaredStream, str], ...]:
        """The streams whose position is shown in a consumer group, each with that group; ordered by pipeline."""
        streams = [stream for _, pipeline in sorted(self.pipelines.items()) for stream in streams_of(pipeline)]
        return tuple((stream, group) for stream in streams if (group := stream.mirror_group) is not None)

    def pipeline_of(self, stream: str) -> PipelineSpec | None:
        """Return the pipeline that a stream belongs to; None for a raw stream, and for one that no spec declares."""
        declared = self.streams.get(stream)
        return None if declared is None else declared.pipeline

    def topics_of(self, stream: str) -> tuple[str, ...]:
        """Return the topics that a stream reads; of a stream that no spec declares any more, by its name."""
        declared = self.streams.get(stream)
        return (topic_of_raw(stream),) if declared is None else declared.topics

    def topic_of(self, stream: str) -> str:
        """Return the topic of a raw stream, which reads one; of another stream, the first that it reads."""
        return self.topics_of(stream)[0]

    @cached_property
    def settled_tables(self) -> Mapping[str, PipelineSpec]:
        """The pipeline that settles each interval table, by the table's name."""
        return {pipeline.intervals.table: pipeline for pipeline in self.interval_pipelines.values()}

    @cached_property
    def table_readers(self) -> Mapping[str, tuple[PipelineSpec, ...]]:
        """The pipelines that read each settled table, by the table's name."""
        by_table: dict[str, list[PipelineSpec]] = defaultdict(list)
        for pipeline in self.pipelines.values():
            for source in pipeline.table_sources.values():
                by_table[source.table].append(pipeline)
        return {table: tuple(readers) for table, readers in by_table.items()}

    @cached_property
    def readers(self) -> Mapping[str, tuple[PipelineSpec, ...]]:
        """The pipelines of each topic that is read."""
        by_topic: dict[str, list[PipelineSpec]] = defaultdict(list)
        for pipeline in self.pipelines.values():
            for topic in pipeline.topics:
                by_topic[topic].append(pipeline)
        return {topic: tuple(readers) for topic, readers in by_topic.items()}

    @property
    def delivered_topics(self) -> frozenset[str]:
        """The topics that outputs of this project fill: after a crash they hold some records twice."""
        return frozenset(output.topic for pipeline in self.pipelines.values() for output in pipeline.written_topics)

    def units_at(self, topic: str) -> frozenset[str]:
        """Return the units whose streams read a topic or write it."""
        at = (p.driver for p in self.pipelines.values() if topic in {*p.topics, *(o.topic for o in p.written_topics)})
        return frozenset(at) | ({self.topics[topic].raw.driver} if topic in self.topics else set())

    def raw_units_of(self, unit: Unit) -> tuple[str, ...]:
        """Return the other units that fill the raw tables which a unit's interval tables are settled from."""
        settled = (self.pipelines[name] for name in unit.pipelines if self.pipelines[name].has_intervals)
        read = {topic for pipeline in settled for topic in pipeline.topics}
        return tuple(sorted({self.topics[topic].raw.driver for topic in read} - {unit.name}))

    def deadlines_of(self, stream: str) -> StreamDeadlines:
        """Return what a stream promises; nothing if no spec declares it."""
        declared = self.streams.get(stream)
        return UNDECLARED if declared is None else declared.deadlines

    def owner_of(self, stream: str) -> str:
        """Return who owns a stream; empty if no owner is named."""
        declared = self.streams.get(stream)
        return "" if declared is None else declared.owner

    def kafka_topics(self) -> Mapping[str, TopicShape]:
        """Return every topic that is declared: those that are read, and those that only an output fills.

        Those that are read are bounded in how far their producers' clocks may be ahead.
        """
        outputs = (output for pipeline in self.pipelines.values() for output in pipeline.written_topics)
        filled = {output.topic: output.create for output in outputs if output.create is not None}
        return {**filled, **{name: bounded(topic, self.readers.get(name, ())) for name, topic in self.topics.items()}}

    def in_deployment(self, name: str) -> Catalog:
        """Return the catalog as it is in one deployment: its topics are what they are there, its principals who is."""
        topics = {topic: spec.in_deployment(name) for topic, spec in self.topics.items()}
        pipelines = {pipeline: spec.in_deployment(name) for pipeline, spec in self.pipelines.items()}
        access = {principal: spec for principal, spec in self.access.items() if spec.exists_in(name)}
        return replace(self, topics=topics, pipelines=pipelines, access=access)

    def deployment(self, name: str) -> DeploymentSpec:
        """Return the deployment that `SLUICE_DEPLOYMENT` names.

        Raises:
            SpecError: there is none of this name.
        """
        if name not in self.deployments:
            raise SpecError(
                f"SLUICE_DEPLOYMENT is {name!r}, and include/deployments has "
                f"{', '.join(sorted(self.deployments)) or 'none'}.",
                fix="set it to one of these, or add a file.",
            )
        return self.deployments[name]

    def suite_of(self, pipeline: str) -> ExpectationsSpec | None:
        """Return the suite that guards a pipeline; None where none is declared.

        Raises:
            SpecError: it has none that is sound, and a broken one is or may be its own.
        """
        for suite in self.expectations.values():
            if suite.pipeline == pipeline:
                return suite
        broken = sorted(file for file, guarded in self.doubtful_suites.items() if guarded in (None, pipeline))
        if broken:
            raise SpecError(
                f"the pipeline {pipeline!r} has no sound suite, and {', '.join(broken)} is broken: without it, rows "
                "would be published that no gate has checked.",
                fix="run `sluice check` and repair it.",
            )
        return None

    def gate_of(self, pipeline: str) -> ExpectationsSpec | None:
        """Return what a pipeline's rows have to pass before they are published; None where nothing is declared of them.

        Raises:
            SpecError: see `suite_of`.
        """
        suite = self.suite_of(pipeline)
        return None if suite is None else suite.gate

    def expected_of_records(self, pipeline: str, source: str | None = None) -> tuple[Expectation, ...]:
        """Return what must hold for each record of a pipeline, beyond what its topics declare.

        Args:
            pipeline: its name.
            source: the name of the source whose records are meant; None: those of all.

        Raises:
            SpecError: see `suite_of`.
        """
        suite = self.suite_of(pipeline)
        expected = () if suite is None else suite.about(Subject.RECORD)
        # Of a pipeline with one source, what names none is about that one.
        return expected if source is None else tuple(each for each in expected if each.source in (None, source))

    @cached_property
    def run_plans(self) -> Mapping[str, RunPlan]:
        """When the driver of each unit is to run: as its pipelines say, or without any as its raw streams do."""
        raw = {
            topic.raw.driver: RunPlan(topic.raw.schedule, topic.raw.stop_when_idle) for topic in self.topics.values()
        }
        return {**raw, **{pipeline.driver: pipeline.run_plan for pipeline in self.pipelines.values()}}

    def run_plan(self, unit: str) -> RunPlan:
        """Return when the driver of a unit is to run; all the time if no spec names it."""
        return self.run_plans.get(unit, ALL_THE_TIME)

    def unit(self, name: str) -> Unit:
        """Return a unit.

        Raises:
            SpecError: no spec names such a driver.
        """
        units = self.units()
        if name not in units:
            raise SpecError(
                f"there is no unit {name!r}; the specs name {', '.join(units) or 'none'}.",
                fix="a unit is what `driver:` says in a pipeline or a topic's `raw`.",
            )
        return units[name]

    def units(self) -> dict[str, Unit]:
        """Group streams by the driver that they name, ordered by name."""
        topics: dict[str, list[str]] = defaultdict(list)
        pipelines: dict[str, list[str]] = defaultdict(list)
        further: dict[str, list[str]] = defaultdict(list)
        for name, topic in self.topics.items():
            topics[topic.raw.driver].append(name)
        for name, pipeline in self.pipelines.items():
            pipelines[pipeline.driver].append(name)
            further[pipeline.driver] += [stream.name for stream in streams_of(pipeline) if stream.name != name]
        return {
            driver: Unit(
                driver,
                tuple(sorted(topics.get(driver, ()))),
                tuple(sorted(pipelines.get(driver, ()))),
                tuple(sorted(further.get(driver, ()))),
                self.run_plan(driver),
            )
            for driver in sorted(topics.keys() | pipelines.keys())
        }
