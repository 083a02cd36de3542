"""The fail-over of a unit's streams to the target of a mirror: rehearsed, or put on record."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path

from sluice.errors import RefusedError, SluiceError
from sluice.intervals.reach import Reach
from sluice.launch.private import write_private
from sluice.mirrors.configuration import header_of
from sluice.mirrors.report import FailoverReport, StreamTranslation
from sluice.mirrors.translation import Comparison, PartitionTranslation, compare
from sluice.project.mirroring.mirrors import Cluster, ProjectMirrors, oldest_origin, translated
from sluice.specs.catalog.catalog import Unit
from sluice.specs.catalog.streams import topic_of_raw
from sluice.specs.deployments.mirror import matching
from sluice.streams.life.attempts import Desired
from sluice.streams.life.resetting import refuse_living
from sluice.streams.position.epochs import Epoch, joined_ids
from sluice.topics.administration import TopicExtent

COMPARED = 1_000
"""Records before a stream's position that a rehearsal compares, per partition, beside all behind it."""
MOST_COMPARED = 100_000
"""Records that it compares at most, per partition: a stream may be far behind."""
KEPT = 50
"""Reports of a mirror that are kept."""


@dataclass
class Failover:
    """The fail-over of one unit by one mirror.

    Attributes:
        mirrors: of the project.
        name: the mirror's.
        unit: whose streams go on in the target.
    """

    mirrors: ProjectMirrors
    name: str
    unit: Unit
    _seconds: dict[str, float] = field(default_factory=dict)

    def rehearse(self) -> FailoverReport:
        """Return where each stream would go on now, and compare both clusters around there. Changes nothing.

        Raises:
            RefusedError: a stream reads what the mirror does not copy, or has read another topic than the source's.
            UnreachableError: the target does not answer.
        """
        return self._report(rehearsal=True)

    def move(self, *, by: str, why: str) -> FailoverReport:
        """Put on record that each stream goes on in the target. It may be repeated: what is on record stays.

        Raises:
            RefusedError: the unit or the mirror may run, the deployments keep their tables in two places, or as for
                `rehearse`; nothing was changed.
            UnreachableError: the target, the launcher or the control database does not answer.
        """
        self.refuse_running()
        report = self._report(rehearsal=False)
        with self._timed("record"):
            for stream in report.streams:
                self._record(stream, by, why)
        return self._kept(report)

    def _report(self, *, rehearsal: bool) -> FailoverReport:
        self._refuse_elsewhere()
        spec, clock = self.mirrors.spec(self.name), self.mirrors.project.clock
        at = clock.now().astimezone(UTC)
        with ExitStack() as stack:
            target = stack.enter_context(self.mirrors.cluster(spec.target))
            with self._timed("ask the source"):
                source, ends, silence = self._ask_source(stack)
            with self._timed("translate"):
                found = (self._translated(stream, target, ends) for stream in self._streams())
                streams = tuple(stream for stream in found if stream is not None)
            with self._timed("compare"):
                compared = self._compared(streams, source, target, ends) if rehearsal and source else {}
        if not streams:
            raise RefusedError(
                f"all streams of {self.unit.name} read {spec.target} already.", fix="start the unit there."
            )
        report = FailoverReport(
            self.name, self.unit.name, spec.target, at, rehearsal, silence, streams, compared, self._seconds
        )
        return self._kept(report) if rehearsal else report

    def _ask_source(self, stack: ExitStack) -> tuple[Cluster | None, Mapping[str, TopicExtent], str]:
        """Return the source with what its topics hold; without it if it does not answer, and why."""
        try:
            source = stack.enter_context(self.mirrors.cluster(self.mirrors.spec(self.name).source))
            found = source.administration.extents(self._topics())
            faults = [extent for extent in found.values() if isinstance(extent, SluiceError)]
            if faults:
                raise faults[0]
        except SluiceError as error:
            return None, {}, error.message
        return source, {t: extent for t, extent in found.items() if isinstance(extent, TopicExtent)}, ""

    def _translated(self, stream: str, target: Cluster, ends: Mapping[str, TopicExtent]) -> StreamTranslation | None:
        """Return where a stream goes on; None of one that does so already."""
        declared, partitions = self.mirrors.project.catalog.streams[stream], dict[str, PartitionTranslation]()
        extents = {topic: target.administration.extent(topic) for topic in declared.topics}
        identity = joined_ids([*(extent.topic_id for extent in extents.values()), *declared.tables])
        newest = self.mirrors.project.streams.epochs(stream).newest()
        if newest is not None and newest.topic_id == identity:
            return None
        position = self._position(stream, ends)
        for topic, extent in extents.items():
            for p, end in sorted(extent.ends.items()):
                key, known = f"{topic}/{p}", ends.get(topic)
                source_end = None if known is None else known.ends.get(p, 0)
                bounds = (extent.beginnings[p], end)
                at, header = position.get(key, 0), header_of(self.name)
                partitions[key] = translated(
                    target.reader, (topic, p), bounds, at, header=header, source_end=source_end
                )
        return StreamTranslation(stream, identity, partitions)

    def _position(self, stream: str, ends: Mapping[str, TopicExtent]) -> Mapping[str, int]:
        """Return how far a stream has read the source: a raw one as far as its table goes, another by its checkpoint.

        Raises:
            RefusedError: its offsets are those of another topic.
        """
        project = self.mirrors.project
        epochs, declared = project.streams.epochs(stream), project.catalog.streams[stream]
        newest = epochs.newest()
        if ends and newest is not None:
            known = joined_ids([*(ends[topic].topic_id for topic in declared.topics), *declared.tables])
            if known != newest.topic_id:
                raise RefusedError(
                    f"{stream} counts in offsets of the topic {newest.topic_id}, and the source has {known}.",
                    fix="find out whether a topic was created again: a mirror translates positions of the source.",
                )
        if project.catalog.pipeline_of(stream) is None:
            return _position_of_raw(project.tables.raw_position(topic_of_raw(stream)).reach, newest)
        state = epochs.checkpoint().read()
        return state.start if state.newest is None else state.newest.offsets

    def _record(self, stream: StreamTranslation, by: str, why: str) -> None:
        epochs, clock = self.mirrors.project.streams.epochs(stream.stream), self.mirrors.project.clock
        at = clock.now().astimezone(UTC)
        to = f"the copy by mirror {self.name}"
        number = epochs.number + 1
        epochs.record(Epoch(number, stream.topic_id, stream.offsets, to, by, why, at, continues=True))

    def _compared(
        self, streams: Sequence[StreamTranslation], source: Cluster, target: Cluster, ends: Mapping[str, TopicExtent]
    ) -> Mapping[str, Comparison]:
        """Compare both clusters around each partition's lowest position, as far as it was copied."""
        places = dict[str, PartitionTranslation]()
        for stream in streams:
            for key, one in stream.partitions.items():
                if key not in places or one.position < places[key].position:
                    places[key] = one
        return {
            key: comparison
            for key, one in places.items()
            if (comparison := self._compared_partition(key, one, source, target, ends)) is not None
        }

    def _compared_partition(
        self, key: str, one: PartitionTranslation, source: Cluster, target: Cluster, ends: Mapping[str, TopicExtent]
    ) -> Comparison | None:
        topic, _, number = key.rpartition("/")
        partition, header = int(number), header_of(self.name)
        there, held = target.administration.extent(topic).beginnings[partition], ends[topic]
        first = max(held.beginnings[partition], one.position - COMPARED)
        start = translated(target.reader, (topic, partition), (there, one.end), first, header=header).at
        if start == there > 0 and (oldest := oldest_origin(target.reader, topic, partition, (there, one.end), header)):
            first = max(first, oldest)  # what retention has removed there is not missing
        until = min(one.copied or 0, held.ends[partition], first + MOST_COMPARED)
        if first >= until:
            return None
        records = source.reader.read(topic, {partition: first}, {partition: until})
        copies = target.reader.read(topic, {partition: start}, {partition: one.end})
        return compare(records, copies, header)

    def _streams(self) -> list[str]:
        """Return the streams of the unit that read topics.

        Raises:
            RefusedError: one of them reads what the mirror does not copy.
        """
        catalog = self.mirrors.project.catalog
        streams = [stream for stream in self.unit.streams if catalog.topics_of(stream)]
        read = sorted({topic for stream in streams for topic in catalog.topics_of(stream)})
        copied = matching(self.mirrors.patterns(self.name), tuple(read))
        if lacking := [topic for topic in read if topic not in copied]:
            raise RefusedError(
                f"the unit {self.unit.name!r} reads {', '.join(lacking)}, which {self.name!r} does not copy.",
                fix="name them in `topics` of the mirror, and wait until they are copied.",
            )
        return streams

    def _topics(self) -> tuple[str, ...]:
        catalog = self.mirrors.project.catalog
        return tuple(sorted({topic for stream in self._streams() for topic in catalog.topics_of(stream)}))

    def _refuse_elsewhere(self) -> None:
        project, spec = self.mirrors.project, self.mirrors.spec(self.name)
        if project.settings.deployment != spec.source:
            raise RefusedError(
                f"this is the deployment {project.settings.deployment!r}, and the mirror {self.name!r} copies from "
                f"{spec.source!r}.",
                fix=f"set SLUICE_DEPLOYMENT={spec.source}.",
            )

    def refuse_running(self) -> None:
        """Make sure that neither the unit nor the mirror runs, and that the streams find their tables there.

        Raises:
            RefusedError: one of that is not so.
            UnreachableError: the launcher or the control database does not answer.
        """
        project, spec = self.mirrors.project, self.mirrors.spec(self.name)
        refuse_living(project.streams.life(self.unit.name).record_end())
        status = self.mirrors.life(self.name).record_end()
        desired = status.desired
        if status.alive or (desired is not None and desired.state is not Desired.STOPPED):
            raise RefusedError(
                f"the mirror {self.name!r} runs, or may be started: what it copies afterwards would come after what is "
                "sent to the target itself.",
                fix=f"run `sluice mirror stop {self.name}`.",
            )
        here, there = (project.catalog.deployments[name].storage for name in (spec.source, spec.target))
        if here != there:
            raise RefusedError(
                f"{spec.source} keeps its tables in {here or 'the state folder'} and {spec.target} in "
                f"{there or 'the state folder'}: the streams would find none of their tables.",
                fix="give both deployments the same `storage`.",
            )

    @contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        clock = self.mirrors.project.clock
        began = clock.monotonic()
        yield
        self._seconds[step] = round(clock.monotonic() - began, 3)

    def _kept(self, report: FailoverReport) -> FailoverReport:
        folder = reports_of(self.mirrors, self.name)
        folder.mkdir(parents=True, exist_ok=True)
        stem = folder / f"{report.at:%Y%m%dT%H%M%S%f}-{report.unit}"
        write_private(stem.with_suffix(".md"), "\n".join([*report.lines(), ""]))
        write_private(stem.with_suffix(".json"), json.dumps(report.as_json(), indent=1))
        for old in sorted(folder.glob("*.json"))[:-KEPT]:
            old.unlink()
            old.with_suffix(".md").unlink(missing_ok=True)
        return report


def _position_of_raw(reach: Reach, epoch: Epoch | None) -> Mapping[str, int]:
    """Return how far a raw stream has read the topic of its epoch: a partition without a record stands at its start."""
    begun = {} if epoch is None else epoch.offsets
    of_another = epoch is not None and reach.topics and reach.topics[-1] != epoch.topic_id
    return begun if of_another else {**begun, **reach.offsets}


def units_of(mirrors: ProjectMirrors, name: str) -> list[Unit]:
    """Return the units that could go on in the target: all topics that their streams read are copied."""
    catalog, patterns = mirrors.project.catalog, mirrors.patterns(name)
    read = {unit: {t for s in unit.streams for t in catalog.topics_of(s)} for unit in catalog.units().values()}
    return [unit for unit, topics in read.items() if topics and len(matching(patterns, tuple(topics))) == len(topics)]


def reports_of(mirrors: ProjectMirrors, name: str) -> Path:
    """Return the folder with the reports of a mirror, as `<time>-<unit>.json` and `.md`."""
    return mirrors.project.folder.mirror(name) / "reports"
