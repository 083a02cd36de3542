"""What one pipeline of a project made of a record, by its ledger, its outputs' logs and the control database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from typing import TypeVar

from sluice.errors import SluiceError
from sluice.intervals.alignment import Interval, interval_of
from sluice.intervals.backfill.acceptance import GATE_FAILED
from sluice.project.project import Project
from sluice.project.settlers import state_of_log
from sluice.quality.quarantine import LETTER_PREFIX
from sluice.quality.reasons import Outcome
from sluice.settling.rules import SettlingRules
from sluice.settling.status import SettlingStatus, status_of_log
from sluice.settling.wording import settling_lines
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import DeadLettersOutput, IntervalsOutput, LatestOutput, SinkOutput, WrittenTopic
from sluice.specs.rules.output_rules import deliveries, output_name, outputs_of
from sluice.streams.life.driver_files import settling_status
from sluice.topics.deduplication import ID
from sluice.tracing.address import RecordAddress
from sluice.tracing.intervals import (
    Part,
    RestingInterval,
    TracedInterval,
    resting_intervals,
    traced_intervals,
)
from sluice.tracing.judgement import FoundRecord, Judgement, judged_by_times
from sluice.tracing.storage import BatchCommit
from sluice.tracing.trace import DeadLetter, PassedOutput, PipelineTrace

T = TypeVar("T")

_PATIENCE_SECONDS = 5
_MOST_LETTERS = 50_000
"""Dead letters of one batch that are searched for one."""
_SKEW = timedelta(minutes=1)
"""How far the clocks of drivers and brokers may be apart."""


def trace_of_pipeline(
    project: Project, spec: PipelineSpec, record: FoundRecord, judgement: Judgement | None = None
) -> PipelineTrace:
    """Return what a pipeline made of a record.

    Args:
        project: specs and places.
        spec: the pipeline's.
        record: the record.
        judgement: what all rules make of it; None: they were not asked, and its times have to say it.
    """
    topic, notes = record.address.topic, list[str]()
    judged = judgement or judged_by_times(record, project.catalog.topics[topic].value, spec.time_of(topic))

    def known(find: Callable[[], Iterable[T]]) -> tuple[T, ...]:
        try:
            return tuple(find())
        except SluiceError as error:
            notes.append(str(error))
            return ()

    intervals = known(lambda: _intervals(project, spec, record, judged))
    found = PipelineTrace(
        spec.name,
        spec.driver,
        judged,
        intervals=intervals,
        waiting=known(lambda: _waiting(project, spec, intervals)),
        outputs=known(lambda: _outputs(project, spec, record, judged)),
        resting=known(lambda: _resting(project, spec, intervals)),
        backfills=known(lambda: _backfills(project, spec, intervals)),
        cases=known(lambda: _cases(project, spec, record)),
    )
    return replace(found, notes=tuple(dict.fromkeys(notes)))


def _intervals(
    project: Project, spec: PipelineSpec, record: FoundRecord, judgement: Judgement
) -> tuple[TracedInterval, ...]:
    if not spec.has_intervals:
        return ()
    touched = tuple(_touched(project, spec, record))
    return traced_intervals(record, judgement, project.tables.ledger(spec.name), project.code_of(spec.name), touched)


def _touched(project: Project, spec: PipelineSpec, record: FoundRecord) -> Iterator[Interval]:
    """Yield the intervals whose rows a record may change: by its time, and by rows that reach further back to it."""
    from sluice.delta.raw.traced_records import times_reaching_to  # noqa: PLC0415 - see `Project`

    if (event := record.row.event_time) is None:
        return
    rules, output = SettlingRules.of(spec, record.address.topic), spec.intervals
    yield from rules.touched(event)
    if output.since_column is not None:
        folder = project.folder.table(output.table)
        for time in times_reaching_to(folder, event, since=output.since_column, until=output.time_column):
            yield interval_of(time, rules.length)


def _waiting(project: Project, spec: PipelineSpec, intervals: Iterable[TracedInterval]) -> tuple[str, ...]:
    """Return what the settler waits for, if an interval of the record is open."""
    if not any(each.part is Part.OPEN for each in intervals):
        return ()
    return tuple(settling_lines(_status(project, spec), spec.name))


def _status(project: Project, spec: PipelineSpec) -> SettlingStatus:
    written = settling_status(project.folder.settling_file(spec.name))
    if written is not None:
        return written
    return status_of_log(state_of_log(project.folder, spec), SettlingRules.by_topic(spec), project.clock.now())


def _outputs(project: Project, spec: PipelineSpec, record: FoundRecord, judgement: Judgement) -> Iterator[PassedOutput]:
    """Yield the outputs that take batches, each with the batch that had the record; of a refused one the dead letters.

    What is good by its times alone may have been refused: then its letter is there.
    """
    from sluice.delta.raw.traced_records import batch_of  # noqa: PLC0415 - see `Project`

    refused = judgement.outcome is Outcome.QUARANTINED
    for _, output in outputs_of(spec):
        if isinstance(output, IntervalsOutput):
            continue
        letters = isinstance(output, DeadLettersOutput)
        if not letters and (judgement.is_refused or judgement.is_late):
            continue
        name = output_name(output)
        if isinstance(output, LatestOutput) and output.store != "delta":
            yield PassedOutput(output.kind, name)
            continue
        table = deliveries(name) if isinstance(output, WrittenTopic | SinkOutput) else name
        commit = batch_of(project.folder.table(table), record.address, record.row.topic_id)
        letter = _letter(project, name, record, commit) if letters and commit is not None else None
        if not letters or refused or letter is not None:
            yield PassedOutput(output.kind, name, commit, letter)


def _letter(project: Project, topic: str, record: FoundRecord, commit: BatchCommit) -> DeadLetter | None:
    """Return the dead letter of a record; None if it is not found among those of its batch."""
    wanted = ID, "-".join(map(str, record.place)).encode()
    with (
        suppress(SluiceError),
        project.kafka.administration(patience_seconds=_PATIENCE_SECONDS) as administration,
        project.kafka.reader(patience_seconds=_PATIENCE_SECONDS) as reader,
    ):
        extent = administration.extent(topic)
        partition = record.address.partition % len(extent.ends)
        begun = extent.beginnings if commit.begun is None else administration.offsets_at(topic, commit.begun - _SKEW)
        start, end = {partition: begun[partition]}, {partition: extent.ends[partition]}
        for letter in islice(reader.read(topic, start, end), _MOST_LETTERS):
            if wanted in letter.headers:
                said = {name: (text or b"").decode() for name, text in letter.headers if name.startswith(LETTER_PREFIX)}
                place = str(RecordAddress(topic, letter.partition, letter.offset))
                return DeadLetter(
                    place, said.get(f"{LETTER_PREFIX}reason", ""), said.get(f"{LETTER_PREFIX}message", "")
                )
    return None


def _resting(project: Project, spec: PipelineSpec, intervals: Iterable[TracedInterval]) -> Iterator[RestingInterval]:
    """Yield the intervals of other pipelines that are made of some intervals, over as many tables as there are."""
    if not spec.has_intervals:
        return
    followed = [each for each in intervals if each.part not in (Part.REFUSED, Part.LATE)]
    below: dict[Interval, int | None] = {
        each.interval: None if each.row.current is None else each.row.current.version for each in followed
    }
    waiting, met = [(spec, below)], {spec.name}
    while waiting:
        pipeline, below = waiting.pop(0)
        table = pipeline.intervals.table
        for reader in project.catalog.table_readers.get(table, ()) if below else ():
            if reader.name in met:
                continue
            met.add(reader.name)
            ledger = project.tables.ledger(reader.name)
            found = resting_intervals(reader, table, ledger, project.code_of(reader.name), below)
            yield from found
            versions = {each.interval: None if not each.current else _version(each) for each in found}
            waiting.append((reader, versions))


def _version(resting: RestingInterval) -> int | None:
    return None if resting.row.current is None else resting.row.current.version


def _backfills(project: Project, spec: PipelineSpec, intervals: Iterable[TracedInterval]) -> Iterator[str]:
    """Yield what backfills of some intervals are at work, or were held back by the gate since these were written."""
    touched = list(intervals)
    if not touched:
        return
    times = Interval(touched[0].interval.start, touched[-1].interval.end)
    written = max((each.row.current.at for each in touched if each.row.current is not None), default=None)
    records = project.records.backfills()
    for running in records.running(spec.name):
        if _overlap(running.request.range, times):
            yield f"{running.id} ({running.request.mode}) works on them: {running.done:,} of {running.total:,} done"
    for recent in records.recent(spec.name):
        newer = written is None or recent.claimed_at > written
        if recent.outcome == GATE_FAILED and newer and _overlap(recent.request.range, times):
            yield f"the quality gate held {recent.id} back, which would have published them again: {recent.why}"


def _overlap(one: Interval, other: Interval) -> bool:
    return one.start < other.end and other.start < one.end


def _cases(project: Project, spec: PipelineSpec, record: FoundRecord) -> tuple[str, ...]:
    cases = project.records.cases().of(spec.name)
    return tuple(f"{case.id}: {case.state}" for case in cases if record.place in case.positions)
