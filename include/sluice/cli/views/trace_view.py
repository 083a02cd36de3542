"""What became of a record, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from sluice.cli.terminal.output import out_lines, print_fields
from sluice.cli.views.record_view import bytes_as_dict
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.trial import RowChange, RowDifference
from sluice.intervals.ledger import LedgerRow, State
from sluice.quality.reasons import Outcome, advice_of, meaning_of
from sluice.quality.samples import masked as in_form
from sluice.topics.printable import printable_bytes, printable_line
from sluice.tracing.intervals import RestingInterval, TracedInterval
from sluice.tracing.judgement import Judgement
from sluice.tracing.masking import masked_pipeline
from sluice.tracing.storage import BatchCommit, StorageState
from sluice.tracing.trace import PassedOutput, PipelineTrace, RecordRows, Trace
from sluice.wording import listed, span

T = TypeVar("T")
_SHOWN = 12
"""Lines of one kind; programs get all."""
_WIDTH = 9
_TEXT = 200
_OF_TIMES = " by its times"
_IN_KAFKA_ALONE = (
    "Kafka has a record there, which the raw stream has passed over: verify its time (`sluice backfill run … --mode "
    "verify`), which compares the raw table with Kafka"
)


def print_trace(trace: Trace, *, masked: bool) -> None:
    """Print it: the record first, then each pipeline that reads its topic."""
    out_lines.print(f"{trace.address}" + (f" (topic id {trace.topic_id})" if trace.topic_id else ""))
    print_fields(dict(_record_lines(trace, masked=masked)), _WIDTH)
    for pipeline in _shown_pipelines(trace, masked=masked):
        out_lines.print(f"{pipeline.pipeline} (unit {pipeline.unit}): {judgement_in_words(pipeline.judgement)}")
        for line in _pipeline_lines(pipeline):
            out_lines.print(f"  {line}")
    if not trace.pipelines:
        out_lines.print(f"  {'rows':<{_WIDTH}} {_without_pipelines(trace)}")


def _shown_pipelines(trace: Trace, *, masked: bool) -> Sequence[PipelineTrace]:
    return tuple(map(masked_pipeline, trace.pipelines)) if masked else trace.pipelines


def _without_pipelines(trace: Trace) -> str:
    if trace.record is not None:
        return "no pipeline reads the topic"
    unread = trace.raw.state is StorageState.UNREAD
    return "what pipelines make of it is known once it is read" if unread else "none is made of it"


def _record_lines(trace: Trace, *, masked: bool) -> Iterator[tuple[str, str]]:
    record, raw = trace.record, trace.raw
    yield "read by", f"the unit {trace.unit}, into the raw table {trace.table}"
    yield "Kafka", _kafka_in_words(trace)
    if raw.row is not None:
        yield "raw", f"{raw.state}: {_commit_in_words(trace.commit)}, in {raw.row.file}"
    else:
        yield "raw", f"{raw.state}: {raw.why}"
    yield "next", _IN_KAFKA_ALONE if trace.is_missing else raw.state.what_to_do
    if raw.others:
        yield "note", f"topics of this name with the ids {listed(raw.others, 3)} had a record there, too (--topic-id)"
    if record is None:
        return
    sent = "without a time" if record.at is None else f"of {_second(record.at)}"
    size = "a tombstone" if record.value is None else f"{len(record.value):,} bytes"
    yield "record", f"{size} {sent}{'' if record.key is None else f', key {_text(record.key, masked=masked)}'}"
    yield "fields", _fields_in_words(trace, masked=masked)
    if record.event_time is not None:
        arrived = "" if record.arrival_time is None else f", arrived {_second(record.arrival_time)}"
        yield "times", f"happened {_second(record.event_time)}{arrived}"
    if trace.copies:
        yield "copies", f"the same event, or the same bytes: {listed(trace.copies, 5)}"


def _kafka_in_words(trace: Trace) -> str:
    kafka = trace.kafka
    if kafka.why:
        return f"not known: {kafka.why}"
    has = f"{trace.address.key} has the offsets {kafka.first:,} to {kafka.end - 1:,}"
    if kafka.first >= kafka.end:
        has = f"{trace.address.key} is empty; its next offset is {kafka.end:,}"
    if kafka.holds(trace.address, trace.topic_id):
        return f"{'no record there' if trace.record is None else 'still there'}: {has}"
    return f"gone: {has}" + (f" of the topic {kafka.topic_id}" if trace.topic_id not in ("", kafka.topic_id) else "")


def _fields_in_words(trace: Trace, *, masked: bool) -> str:
    """Return the fields of a record; without any, its bytes."""
    if trace.fields is not None:
        pairs = ((n, value if isinstance(value, str) else json.dumps(value)) for n, value in trace.fields.items())
        text = printable_line(" ".join(f"{name}={value}" for name, value in pairs))
    else:
        text = printable_bytes((trace.record and trace.record.value) or b"", _TEXT)
    return in_form(text) if masked else text


def _text(data: bytes, *, masked: bool) -> str:
    text = printable_bytes(data, _TEXT)
    return in_form(text) if masked else text


def judgement_in_words(judgement: Judgement) -> str:
    """Return what a pipeline's rules make of a record, as a clause."""
    known = "" if judgement.whole else _OF_TIMES
    match judgement.outcome:
        case None:
            return "not judged yet"
        case Outcome.GOOD:
            return f"good{known}: {_delay(judgement)}"
        case Outcome.LATE:
            return f"late by {_span((judgement.delay or judgement.allowed) - judgement.allowed)}: {_delay(judgement)}"
        case Outcome.CONTROL:
            return Outcome.CONTROL.meaning
        case Outcome.QUARANTINED if judgement.reason is None:
            detail = f": {judgement.detail}" if judgement.detail else ""
            return f"quarantined, it did not decode when it was read{detail}"
        case Outcome.QUARANTINED:
            why = judgement.reason, judgement.detail or None
            return f"quarantined, {judgement.reason}: {meaning_of(*why)}; {advice_of(*why)}"


def _delay(judgement: Judgement) -> str:
    if judgement.delay is None:
        return "it lacks one of its times"
    early = judgement.delay < timedelta()
    arrived = f"it arrived {_span(abs(judgement.delay))} {'before' if early else 'after'} it happened"
    return f"{arrived}, and {_span(judgement.allowed)} are allowed"


def _pipeline_lines(trace: PipelineTrace) -> Iterator[str]:
    for each in _first(trace.intervals):
        yield _interval_in_words(each)
        yield from (f"  dirty: {reason}" for reason in each.row.dirty)
    yield from _rest(trace.intervals, "intervals")
    yield from trace.waiting
    yield from (_output_in_words(each) for each in trace.outputs)
    yield from (f"backfill: {sentence}" for sentence in trace.backfills)
    if trace.cases:
        yield f"cases of the quarantine: {', '.join(trace.cases)}"
    yield from map(_resting_in_words, _first(trace.resting))
    yield from _rest(trace.resting, "intervals of other pipelines")
    if trace.rows is not None:
        yield from _rows_in_words(trace.rows)
    yield from (f"not known: {note}" for note in trace.notes)


def _interval_in_words(traced: TracedInterval) -> str:
    part = f"{traced.part}: {traced.part.meaning}"
    advice = f"; {traced.part.what_to_do}" if traced.part.what_to_do else ""
    return f"{_bounds(traced.interval)} {traced.state}, {part}{_written_in_words(traced.row)}{advice}"


def _written_in_words(row: LedgerRow) -> str:
    written = row.current
    if written is None:
        return ""
    who = written.owner if written.generation is None else f"{written.owner}, generation {written.generation}"
    verified = "" if row.verified is None else f"; verified by {row.verified.backfill}"
    return f" (version {written.version} of {_second(written.at)} by {who}, {written.content.rows:,} rows{verified})"


def _resting_in_words(resting: RestingInterval) -> str:
    read = {None: "not settled yet", True: "made of these rows", False: "made of other rows than the table has now"}
    state = "" if resting.state is State.OPEN else f"{resting.state}, "
    where = f"then {resting.pipeline} over {resting.table}, {_bounds(resting.interval)}"
    return f"{where} {state}{read[resting.current]}{_written_in_words(resting.row)}"


def _output_in_words(passed: PassedOutput) -> str:
    if (letter := passed.letter) is not None:
        why = f", which says {letter.reason}: {letter.message}" if letter.reason else ""
        return f"dead letter: {letter.place}{why}"
    what = {"dead_letters": "dead letters in", "topic": "topic"}.get(passed.kind, f"{passed.kind} table")
    if passed.commit is None:
        return f"{what} {passed.name}: no batch with the record is on record"
    return f"{what} {passed.name}: its batch is {_commit_in_words(passed.commit)}"


def _commit_in_words(commit: BatchCommit | None) -> str:
    if commit is None:
        return "the log does not say when it was written"
    who = f"batch {commit.batch_id}, generation {commit.generation}"
    return f"version {commit.version} of {_second(commit.at)} ({who})"


def _rows_in_words(rows: RecordRows) -> Iterator[str]:
    if rows.other_code:
        yield "other code computed some of these intervals; these rows are what today's code makes of the same records"
    yield from (printable_line(_row_in_words(each, rows)) for each in rows.differences)
    for row in rows.alone:
        yield f"row made of it: {printable_line(json.dumps(row))}"
    if rows.more:
        yield "there are more rows; --limit shows them"
    if not rows.differences and not rows.alone:
        yield "no row differs without it"


def _row_in_words(row: RowDifference, rows: RecordRows) -> str:
    """Return one row without the record and with it."""
    key = " ".join(f"{name}={_value(value)}" for name, value in row.key.items())
    words = ("would be without it", "would be with it") if row.interval in rows.assumed else ("without it", "with it")
    match row.change:
        case RowChange.ONLY_NEW:
            return f"row {key}: only {words[1]}"
        case RowChange.ONLY_OLD:
            return f"row {key}: only {words[0]}"
        case RowChange.CHANGED if row.old_rows != row.new_rows:
            return f"rows {key}: {row.old_rows} {words[0]}, {row.new_rows} {words[1]}"
        case RowChange.CHANGED:
            changes = ", ".join(f"{name} {_value(row.old[name])} → {_value(row.new.get(name))}" for name in row.old)
            return f"row {key}: {changes} ({words[0]} → {words[1]})"


def _value(value: str | None) -> str:
    return "null" if value is None else value


def _first(items: Sequence[T]) -> Sequence[T]:
    return items[:_SHOWN]


def _rest(items: Sequence[object], noun: str) -> Iterator[str]:
    if len(items) > _SHOWN:
        yield f"and {len(items) - _SHOWN:,} more {noun}; -o json has all"


def _bounds(interval: Interval) -> str:
    return f"{interval.start:%Y-%m-%d %H:%M} to {interval.end:%Y-%m-%d %H:%M} UTC:"


def _second(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def _span(length: timedelta) -> str:
    return span(length / timedelta(seconds=1))


def trace_as_dict(trace: Trace, *, masked: bool) -> dict[str, Any]:
    """Return it as JSON values."""
    record, kafka, raw = trace.record, trace.kafka, trace.raw
    return {
        "address": str(trace.address),
        "topic": trace.address.topic,
        "topic_id": trace.topic_id,
        "partition": trace.address.partition,
        "offset": trace.address.offset,
        "unit": trace.unit,
        "kafka": {
            "holds": kafka.holds(trace.address, trace.topic_id),
            "topic_id": kafka.topic_id,
            "first": kafka.first,
            "next": kafka.end,
            "why": kafka.why,
        },
        "raw": {
            "table": trace.table,
            "state": raw.state,
            "why": raw.why,
            "file": raw.row.file if raw.row else "",
            "commit": _commit_as_dict(trace.commit),
            "other_topic_ids": list(raw.others),
            "missing": trace.is_missing,
        },
        "record": record
        and {
            "timestamp": _iso(record.at),
            "event_time": _iso(record.event_time),
            "arrival_time": _iso(record.arrival_time),
            "decodes": record.decodes,
            **({} if masked else {**bytes_as_dict("key", record.key), **bytes_as_dict("value", record.value)}),
        },
        "fields": _fields_in_words(trace, masked=True) if masked else trace.fields,
        "copies": list(trace.copies),
        "pipelines": [_pipeline_as_dict(each) for each in _shown_pipelines(trace, masked=masked)],
    }


def _pipeline_as_dict(trace: PipelineTrace) -> dict[str, Any]:
    judgement = trace.judgement
    return {
        "pipeline": trace.pipeline,
        "unit": trace.unit,
        "judged": {
            "outcome": judgement.outcome,
            "reason": judgement.reason,
            "detail": judgement.detail,
            "delay_seconds": None if judgement.delay is None else judgement.delay.total_seconds(),
            "allowed_seconds": judgement.allowed.total_seconds(),
            "by_all_rules": judgement.whole,
        },
        "intervals": [
            {**_interval_as_dict(each.interval, each.state, each.row), "part": each.part} for each in trace.intervals
        ],
        "waiting": list(trace.waiting),
        "outputs": [_output_as_dict(each) for each in trace.outputs],
        "resting": [
            {
                "pipeline": each.pipeline,
                "table": each.table,
                **_interval_as_dict(each.interval, each.state, each.row),
                "made_of_these_rows": each.current,
            }
            for each in trace.resting
        ],
        "backfills": list(trace.backfills),
        "cases": list(trace.cases),
        "rows": trace.rows and _rows_as_dict(trace.rows),
        "notes": list(trace.notes),
    }


def _interval_as_dict(interval: Interval, state: State, row: LedgerRow) -> dict[str, Any]:
    written = row.current
    return {
        "from": interval.start.isoformat(),
        "to": interval.end.isoformat(),
        "state": state,
        "dirty": list(row.dirty),
        "written": written
        and {
            "version": written.version,
            "at": written.at.isoformat(),
            "owner": written.owner,
            "generation": written.generation,
            "rows": written.content.rows,
            "late": written.late,
        },
        "verified_by": row.verified and row.verified.backfill,
    }


def _output_as_dict(passed: PassedOutput) -> dict[str, Any]:
    letter = passed.letter
    return {
        "kind": passed.kind,
        "name": passed.name,
        "commit": _commit_as_dict(passed.commit),
        "letter": letter and {"place": letter.place, "reason": letter.reason, "message": letter.message},
    }


def _rows_as_dict(rows: RecordRows) -> dict[str, Any]:
    return {
        "differences": [{**each.as_dict(), "assumed": each.interval in rows.assumed} for each in rows.differences],
        "made_of_it": list(rows.alone),
        "more": rows.more,
        "other_code": rows.other_code,
    }


def _commit_as_dict(commit: BatchCommit | None) -> dict[str, Any] | None:
    if commit is None:
        return None
    at = commit.at.isoformat()
    return {"version": commit.version, "at": at, "generation": commit.generation, "batch": commit.batch_id}


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
