"""The spec of an existing topic: its shape from the cluster, its value from a sample of records. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import yaml

from sluice.provisioning.importing.sample import Form, RecordSample
from sluice.specs.catalog.stamping import MAX_AHEAD, STAMPED_BY, bounds
from sluice.specs.model.duration import format_duration, parse_duration
from sluice.specs.model.model import FieldType
from sluice.specs.model.sources import CLOCK_SKEW
from sluice.specs.model.spec import NAME_PATTERN
from sluice.specs.reading.document import parse_document
from sluice.topics.administration import TopicState
from sluice.topics.replica_administration import THROTTLED
from sluice.wording import counted, listed

MAX_FIELDS = 200
"""Objects with more different keys are maps: their keys are data."""

_LONGEST_STEM = 59
_COMMENT_COLUMN = 30
_PLAIN_KEY = re.compile(r"[a-z][a-zA-Z0-9._-]*")
_HARMLESS_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_ARRIVAL_WORDS = frozenset({"arrived", "arrival", "received", "ingested", "ingestion", "observed", "recorded", "seen"})
_EVENT_WORDS = frozenset({"event", "occurred", "happened", "timestamp", "time", "ts"})


@dataclass(frozen=True)
class Rejection:
    """A topic for which no spec is written: why, and what to do."""

    topic: str
    why: str
    fix: str


@dataclass(frozen=True)
class Proposal:
    """The text of a spec.

    Attributes:
        topic: its name.
        text: YAML, with comments on what was only guessed.
        sampled: how many records were read.
        keyed: whether one of them has a key.
    """

    topic: str
    text: str
    sampled: int
    keyed: bool


@dataclass(frozen=True)
class _Times:
    """The fields proposed for the two times, and why."""

    event: str
    event_why: str
    arrival: str
    arrival_why: str


def propose(
    state: TopicState, sample: RecordSample, *, replication: int, drivers: Collection[str] = ()
) -> Proposal | Rejection:
    """Write the spec of a topic.

    Args:
        state: the topic as the cluster has it.
        sample: a sample of its records.
        replication: replicas of a topic whose spec has none.
        drivers: names of existing units: the topic's raw stream gets one of its own.

    Returns:
        The spec, or why there is none. Whether it is sound beside the others, `sluice.specs.load.scan` knows.
    """
    if fault := _no_name(state.name) or _no_value(state.name, sample):
        return fault
    counts = sorted({len(replicas) for replicas in state.replicas})
    if len(counts) != 1:
        why = f"its partitions have {' or '.join(map(str, counts))} replicas"
        return Rejection(state.name, why, "give all of them as many, and import again.")
    if any(name in state.configs for name in THROTTLED):
        why = "a move of its replicas is under way, or has left its throttle, which is nothing to declare"
        return Rejection(
            state.name, why, "let the move end, remove the throttle from topic and brokers, and import again."
        )
    retention = _retention(state.configs)
    if retention is None:
        why = (
            f"retention.ms is {state.configs['retention.ms']}, and a spec has whole seconds up to a century, or forever"
        )
        return Rejection(state.name, why, "set such a value on the topic (-1 is forever), and import again.")
    times = _times(sample, appended=state.configs.get(STAMPED_BY) == "LogAppendTime")
    if times is None:
        return _no_time(state.name, sample)
    shape = _shape(state, retention, "" if counts == [replication] else str(counts[0]))
    raw = _raw(state.name, drivers)
    text = "\n".join([*_head(sample), *shape, *_keyed(sample), *_value(sample, times), *raw, ""])
    return Proposal(state.name, text, sample.records, bool(sample.keyed))


def _no_name(topic: str) -> Rejection | None:
    if re.fullmatch(NAME_PATTERN, topic):
        return None
    why = "a spec's name is a lower-case letter, then at most 62 of a-z, 0-9 and underscore"
    return Rejection(topic, why, "copy its records to a topic with such a name, or leave it undeclared.")


def _no_value(topic: str, sample: RecordSample) -> Rejection | None:
    by_hand = f"write include/topics/{topic}.yaml by hand (`sluice docs specs`)"
    if not sample.records:
        return Rejection(topic, "it holds no record, so nothing is known of its fields", f"send one, or {by_hand}.")
    if not sample.objects:
        why = f"none of {sampled_records(sample.records)} is a JSON object, and no other format is known"
        return Rejection(topic, why, "have its producers send JSON objects, or leave it undeclared.")
    if len(sample.fields) + len(sample.others) > MAX_FIELDS:
        why = f"its objects have more than {MAX_FIELDS} different keys, so they are data and no names of fields"
        return Rejection(topic, why, f"{by_hand}, with the fields that matter.")
    return None


def _no_time(topic: str, sample: RecordSample) -> Rejection:
    some = [name for name, seen in sample.fields.items() if seen.type is FieldType.TIMESTAMP]
    numbers = [name for name, seen in sample.fields.items() if seen.unit]
    why = "event_time needs a field that is a time (text such as 2013-01-07T12:00:00Z) in every record; it has none"
    if some:
        why += f", and {listed([*map(repr, some)])} is one only in some"
    elif numbers:
        why += f", and {listed([*map(repr, numbers)])} holds numbers, and is not named like a time"
    return Rejection(topic, why, "have its producers send such a field, and import again.")


def _retention(configs: Mapping[str, str]) -> str | None:
    """Return the retention as a spec has it; None where it cannot."""
    if "retention.ms" not in configs:
        return "default"
    milliseconds = int(configs["retention.ms"])
    if milliseconds == -1:
        return "forever"
    if milliseconds < 0 or milliseconds % 1000:
        return None
    try:
        text = format_duration(timedelta(milliseconds=milliseconds))
        parse_duration(text)
    except (OverflowError, ValueError):
        return None
    return text


def _times(sample: RecordSample, *, appended: bool) -> _Times | None:
    """Choose the two times from the timestamps that every object has; None if there is none."""
    fields = [name for name in sample.fields if _is_time(sample, name)]
    if not fields:
        return None
    event = min(fields, key=lambda name: (_has(name, _ARRIVAL_WORDS), not _has(name, _EVENT_WORDS)))
    rest = [name for name in fields if name != event]
    arrival, why = ("broker", "the broker stamps what it appends") if appended else _arrival(sample, event, rest)
    also = [name for name in rest if name != arrival]
    event_why = f"proposed: all {sampled_records(sample.objects)} have it" + (
        f", as {listed(also)} too" if also else ""
    )
    return _Times(event, event_why, arrival, why)


def _arrival(sample: RecordSample, event: str, others: Sequence[str]) -> tuple[str, str]:
    """Return the field that says when a record became known, and why: records come in the order of their arrival."""
    arrival = arrival_among(sample, event, others)
    if not arrival:
        return event, f"no other time fits, so nothing is ever late; or set {STAMPED_BY}, and write broker"
    why = "its name says so" if sample.fields[arrival].backward else "it never goes back from record to record"
    return arrival, f"proposed: {why}"


def arrival_among(sample: RecordSample, event: str, others: Sequence[str]) -> str:
    """Return the likeliest of some times to say when a record became known; empty if none is."""
    likely = [
        name for name in others if name != event and (_has(name, _ARRIVAL_WORDS) or not sample.fields[name].backward)
    ]
    order = lambda name: (not _has(name, _ARRIVAL_WORDS), sample.fields[name].backward)  # noqa: E731 - a key
    return min(likely, key=order, default="")


def _is_time(sample: RecordSample, name: str) -> bool:
    return sample.always(name) and (sample.fields[name].type is FieldType.TIMESTAMP or sample.unit(name) is not None)


def _has(name: str, words: frozenset[str]) -> bool:
    return bool(words & set(name.split("_")))


def _head(sample: RecordSample) -> Iterator[str]:
    yield "# Written by `sluice topics import`: partitions, replication, retention and configs are the cluster's;"
    yield f"# keyed, value and raw are proposed from {sampled_records(sample.records)}, the oldest and the newest."


def _shape(state: TopicState, retention: str, replication: str) -> Iterator[str]:
    yield f"name: {plain_or_quoted(state.name)}"
    yield f"partitions: {state.partitions}"
    if replication:
        yield f"replication: {replication}"
    yield _line(
        f"retention: {retention}", "the broker's; nothing is set on the topic" if retention == "default" else ""
    )
    configs = {key: value for key, value in sorted(state.configs.items()) if key != "retention.ms"}
    unbounded = configs.get(STAMPED_BY) != "LogAppendTime" and not bounds(configs.get(MAX_AHEAD), CLOCK_SKEW)
    if unbounded:
        configs.pop(MAX_AHEAD, None)
        yield f"# {MAX_AHEAD}: the next plan sets it; how far its producers' clocks may be ahead"
    if configs:
        yield "configs:"
    for key, value in configs.items():
        yield f"  {key if _PLAIN_KEY.fullmatch(key) else quoted(key)}: {quoted(value)}"


def _keyed(sample: RecordSample) -> Iterator[str]:
    share = f"{sample.keyed:,} of {sampled_records(sample.records)} have a key"
    yield _line(f"keyed: {'true' if sample.keyed else 'false'}", share)


def _value(sample: RecordSample, times: _Times) -> Iterator[str]:
    yield "value:"
    yield "  format: json"
    yield _line(f"  event_time: {plain_or_quoted(times.event)}", times.event_why)
    yield _line(f"  arrival_time: {plain_or_quoted(times.arrival)}", times.arrival_why)
    yield "  fields:"
    for name, seen in sample.fields.items():
        if seen.type is None:
            continue
        required = ", required: true" if sample.always(name) else ""
        declared, note = form_of_field(sample, name)
        yield _line(f"    {plain_or_quoted(name)}: {{{declared}{required}}}", note)
    yield from (f"    # {note}" for note in left_out(sample))


def form_of_field(sample: RecordSample, name: str) -> tuple[str, str]:
    """Return how a field is declared, as `type: long`, and what is to be known of it; a field that has a type."""
    seen = sample.fields[name]
    if unit := sample.unit(name):
        return f"type: {FieldType.TIMESTAMP}, epoch: {unit}", "numbers of that size; see that the unit is right"
    if seen.type is FieldType.TIMESTAMP and seen.zoneless:
        return f"type: {seen.type}, zone: UTC", "names no zone; see that it is this one"
    note = ""
    if seen.forms[Form.NESTED]:
        note = "objects or lists, as their JSON text"
    elif seen.type is FieldType.STRING and set(seen.forms) - {Form.TEXT, Form.TIMESTAMP}:
        note = "of several types"
    return f"type: {seen.type}", note


def left_out(sample: RecordSample) -> Iterator[str]:
    """Yield what of the sample is not in the spec. A key that may be data is not repeated."""
    if empty := [name for name, seen in sample.fields.items() if seen.type is None]:
        yield f"left out, for it was always null: {listed(empty)}"
    if named := sorted(key for key in sample.others if _HARMLESS_KEY.fullmatch(key)):
        yield f"left out, for a field's name is lower case with underscores: {listed(named)}"
    if unnamed := len(sample.others) - len(named):
        yield f"left out: {counted(unnamed, 'key')} that cannot be the name of a field"
    if others := sample.records - sample.objects:
        verb = "is" if others == 1 else "are"
        yield f"{others:,} of {sampled_records(sample.records)} {verb} no JSON object, and will be quarantined"


def _raw(topic: str, drivers: Collection[str]) -> Iterator[str]:
    raw = f"{topic[:_LONGEST_STEM]}_raw"
    yield "raw:"
    yield f"  table: {raw}"
    yield f"  driver: {plain_or_quoted(topic) if topic not in drivers else raw}"


def _line(text: str, comment: str) -> str:
    return f"{text:<{_COMMENT_COLUMN}}  # {comment}" if comment else text


def plain_or_quoted(name: str) -> str:
    """Return a name as YAML that reads it as text, which `true` would not be."""
    read = parse_document(f"name: {name}\n".encode(), "").data
    return name if read is not None and read["name"] == name else quoted(name)


def quoted(text: str) -> str:
    """Return any text as YAML, in double quotes on one line."""
    dumped: str = yaml.safe_dump(text, default_style='"', width=float("inf"))
    return dumped.removesuffix("\n")


def sampled_records(count: int) -> str:
    """Return a number of records with its noun."""
    return counted(count, "sampled record")
