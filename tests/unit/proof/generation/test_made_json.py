"""JSON that a proof makes is judged by oracles that share no code with it: good is good, broken is what was meant."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sluice.proof.generation.generator import RecordGenerator
from sluice.proof.generation.made import MadeRecord, RecordFate
from sluice.proof.generation.unmade import obstacles_in
from sluice.specs.model.model import TopicSpec, TopicValue
from tests.admission_oracle import Declared, Times, judge
from tests.nested_oracle import judge_nested
from tests.nested_records import declarations
from tests.unit.proof.generation.made_topics import (
    BEGIN,
    EVERY,
    LATENESS,
    SKEW,
    broken_of,
    generator_of,
    topic_of,
)

NUMBERS = (*range(EVERY), 1_000, 123_456)
_SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@_SLOW
@given(declarations())
def test_records_with_anything_inside_are_good_and_broken_ones_are_what_was_meant(fields: dict[str, Any]) -> None:
    value = TopicValue.model_validate({"event_time": "at", "arrival_time": "at", "fields": fields})
    said = {name: field.model_dump(exclude_none=True) for name, field in value.fields.items()}
    said = {name: _with_scales(field) for name, field in said.items()}
    topic = topic_of(value)
    if obstacles := list(obstacles_in(topic)):
        assert all(
            re.search("is read from the same place as|another field is read from inside it", why)
            for why, _ in obstacles
        )
        assume(False)
    made = generator_of(topic)
    records = [made.record(number) for number in range(2 * EVERY)]
    assert len({record.value for record in records}) == len(records)
    for record in (*records, *broken_of(made)):
        reason, verdict = judge_nested(record.value, said)
        assert reason == (record.reason or "good"), (record, verdict.found)


def _with_scales(said: dict[str, Any]) -> dict[str, Any]:
    """Return a declaration in which each decimal says its scale, as the oracle wants it."""
    own = {"scale": 0, **said} if said["type"] == "decimal" else said
    parts = {key: _with_scales(own[key]) for key in ("items", "values") if key in own}
    inner = {"fields": {name: _with_scales(field) for name, field in own["fields"].items()}} if "fields" in own else {}
    return {**own, **parts, **inner}


_BOUNDS = st.floats(-1e6, 1e6, allow_nan=False) | st.integers(-1_000, 1_000).map(float)


@st.composite
def flat_fields(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    """Two times, and fields with bounds and lists; no range is empty."""
    fields: dict[str, dict[str, Any]] = {}
    for name in ("at", "seen"):
        epoch = draw(st.sampled_from([None, "seconds", "milliseconds", "microseconds"]))
        zone = None if epoch else draw(st.sampled_from([None, "UTC", "+05:30", "-08:00"]))
        fields[name] = {"type": "timestamp", "required": True, **_given(epoch=epoch, zone=zone)}
    for name in draw(st.lists(st.sampled_from(["a", "b", "c", "d"]), unique=True)):
        kind = draw(st.sampled_from(["string", "long", "double", "boolean"]))
        said: dict[str, Any] = {"type": kind, "required": draw(st.booleans())}
        if kind in ("long", "double"):
            low, high = draw(st.none() | _BOUNDS), draw(st.none() | _BOUNDS)
            if low is not None and high is not None:
                low, high = min(low, high), max(low, high) + 1
            said |= _given(minimum=low, maximum=high)
        if kind == "string":
            said |= _given(one_of=draw(st.none() | st.lists(st.text("abc-ü", max_size=3), min_size=1, max_size=4)))
        fields[name] = said
    return fields


def _given(**said: Any) -> dict[str, Any]:  # noqa: ANN401 - of any key
    return {key: what for key, what in said.items() if what is not None}


@_SLOW
@given(flat_fields(), st.booleans(), st.booleans())
def test_flat_records_are_good_late_early_or_broken_as_they_were_made(
    fields: dict[str, dict[str, Any]], has_heartbeat: bool, is_live: bool
) -> None:
    said = {**fields, **({"beat": {"type": "boolean"}} if has_heartbeat else {})}
    value = TopicValue.model_validate(
        {"event_time": "at", "arrival_time": "seen", "fields": said, **({"heartbeat": "beat"} if has_heartbeat else {})}
    )
    topic = topic_of(value)
    assert list(obstacles_in(topic, is_live=is_live)) == []
    made = generator_of(topic, **({"now": lambda: BEGIN} if is_live else {}))
    declared = Declared(
        {name: each["type"] for name, each in said.items()},
        tuple(name for name, each in said.items() if each.get("required")),
        "at",
        "seen",
        "beat",
        {name: each["minimum"] for name, each in said.items() if "minimum" in each},
        {name: each["maximum"] for name, each in said.items() if "maximum" in each},
        {name: tuple(each["one_of"]) for name, each in said.items() if "one_of" in each},
        {name: _PER_SECOND[each["epoch"]] for name, each in said.items() if "epoch" in each},
        {name: "Z" if each["zone"] == "UTC" else each["zone"] for name, each in said.items() if "zone" in each},
    )
    times = Times(LATENESS, SKEW, timedelta(minutes=10), BEGIN + timedelta(days=30))
    _agree([made.record(number) for number in range(3 * EVERY)], declared, times)
    _agree(broken_of(made), declared, times)
    beat = made.heartbeat(BEGIN)
    assert (beat is None) is not has_heartbeat
    assert beat is None or judge(beat, declared, times) == "control"


_PER_SECOND = {"seconds": 1, "milliseconds": 1_000, "microseconds": 1_000_000}


def _agree(records: list[MadeRecord], declared: Declared, times: Times) -> None:
    assert len({record.value for record in records}) == len(records)
    for record in records:
        assert judge(record.value, declared, times) == (record.reason or record.fate.value), record


def test_all_ways_to_break_json_are_used() -> None:
    fields = {
        "at": {"type": "timestamp", "required": True},
        "seen": {"type": "timestamp", "required": True},
        "level": {"type": "integer", "maximum": 3},
        "state": {"type": "string", "one_of": ["a"]},
    }
    value = TopicValue.model_validate(
        {"event_time": "at", "arrival_time": "seen", "fields": fields, "framing": "confluent", "schemas": {7: 1, 9: 2}}
    )
    made = generator_of(topic_of(value))
    reasons = {record.reason for record in broken_of(made)}
    assert reasons == {
        *("malformed", "trailing_bytes", "missing_field", "wrong_type", "duplicate_key", "not_finite", "wrong_case"),
        *("bad_framing", "unknown_schema", "out_of_range", "future", "not_allowed"),
    }
    heads = {record.value[:5] for record in map(made.record, range(EVERY)) if record.fate is RecordFate.GOOD}
    assert heads == {b"\x00\x00\x00\x00\x07", b"\x00\x00\x00\x00\x09"}


def test_what_keeps_no_rule_of_its_field_is_said_of_each_field() -> None:
    fields = {
        "at": {"type": "timestamp", "required": True},
        "few": {"type": "long", "required": True, "minimum": 0.2, "maximum": 0.8},
        "none": {"type": "string", "required": True, "one_of": []},
        "inner": {"type": "object", "required": True, "fields": {"x": {"type": "integer", "minimum": 1e12}}},
        "spare": {"type": "long", "minimum": 0.2, "maximum": 0.8},
    }
    topic = topic_of(TopicValue.model_validate({"event_time": "at", "arrival_time": "at", "fields": fields}))
    reasons = [reason for reason, _ in obstacles_in(topic)]
    assert reasons == [
        "the field few of things has no number that is allowed.",
        "the field none of things has no text that is allowed.",
        "the field inner.x of things has no number that is allowed.",
    ]


def test_a_place_that_fields_read_as_different_types_is_in_no_record_and_refused_where_one_is_required() -> None:
    def topic(*, required: bool) -> TopicSpec:
        kinds = {"first": "string", "other": "boolean", "third": "string"}
        fields = {name: {"type": kind, "path": "$.x"} for name, kind in kinds.items()}
        fields["third"] |= {"required": required}
        at = {"at": {"type": "timestamp", "required": True}, "a": {"type": "string"}}
        return topic_of(
            TopicValue.model_validate({"event_time": "at", "arrival_time": "at", "fields": {**at, **fields}})
        )

    made = generator_of(topic(required=False))
    assert {key for number in range(EVERY) for key in json.loads(made.value(number))} == {"at", "a"}
    ((reason, _),) = obstacles_in(topic(required=True))
    assert reason == "the field other of things is read from the same place as first, as another type."


_DEEP = {"type": "object", "fields": {"z": {"type": "string", "required": True}}}


def _meta(**fields: dict[str, Any]) -> dict[str, Any]:
    return {"meta": {"type": "object", "fields": fields}}


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({**_meta(x={"type": "string"}), "p": {"type": "boolean", "path": "$.meta.x"}}, {}),
        (
            {**_meta(x={"type": "string"}), "p": {"type": "string", "path": "$.meta.x", "one_of": ["q"]}},
            {"x": "q"},
        ),
        (
            {**_meta(x={"type": "string", "one_of": ["q"]}), "p": {"type": "string", "path": "$.meta.x"}},
            {"x": "q"},
        ),
        (
            {**_meta(inner=_DEEP), "p": {"type": "string", "path": "$.meta.inner.y", "required": True}},
            {"inner": {"y": "p-2", "z": "z-2"}},
        ),
        (
            {**_meta(inner=_DEEP), "p": {**_DEEP, "path": "$.meta.inner"}, "q": {"type": "string", "path": "$.meta.w"}},
            {"inner": {"z": "z-2"}, "w": "q-2"},
        ),
        (
            {
                "q": {"type": "string", "path": "$.meta.inner.z", "one_of": ["n"]},
                "p": {**_DEEP, "path": "$.meta.inner"},
                **_meta(inner=_DEEP),
            },
            {"inner": {"z": "n"}},
        ),
    ],
)
def test_a_path_into_an_object_keeps_the_rules_of_the_part_that_it_leads_to(
    fields: dict[str, Any], value: dict[str, Any]
) -> None:
    at = {"at": {"type": "timestamp", "required": True}, "a": {"type": "string"}}
    said = TopicValue.model_validate({"event_time": "at", "arrival_time": "at", "fields": {**at, **fields}})
    made = generator_of(topic_of(said))
    declared = {name: field.model_dump(exclude_none=True) for name, field in said.fields.items()}
    good = [record for record in map(made.record, range(EVERY)) if not record.reason]
    assert {judge_nested(record.value, declared)[0] for record in good} == {"good"}
    assert json.loads(made.value(7))["meta"] == value


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {**_meta(x={"type": "string", "required": True}), "p": {"type": "boolean", "path": "$.meta.x"}},
            "the field meta.x of things is read from the same place as p, as another type.",
        ),
        (
            {"m": {"type": "map", "values": {"type": "string"}}, "p": {"type": "string", "path": "$.m.x"}},
            "the field m of things is no object, and another field is read from inside it.",
        ),
        (
            {**_meta(x={"type": "string"}), "p": {"type": "string", "path": "$.meta.x.y"}},
            "the field meta.x of things is no object, and another field is read from inside it.",
        ),
    ],
)
def test_a_path_into_what_has_other_rules_is_refused(fields: dict[str, Any], words: str) -> None:
    at = {"at": {"type": "timestamp", "required": True}}
    topic = topic_of(TopicValue.model_validate({"event_time": "at", "arrival_time": "at", "fields": {**at, **fields}}))
    ((reason, _),) = obstacles_in(topic)
    assert reason == words


def test_a_day_is_no_time_of_a_record() -> None:
    at = {"type": "timestamp", "required": True, "format": "yyyy-MM-dd", "zone": "UTC"}
    topic = topic_of(TopicValue.model_validate({"event_time": "at", "arrival_time": "at", "fields": {"at": at}}))
    ((reason, _),) = obstacles_in(topic)
    assert reason == "the times of things are written by the day, and intervals are shorter."


def test_records_that_happen_at_the_same_time_have_a_number_that_no_field_holds() -> None:
    at = {"at": {"type": "timestamp", "required": True, "epoch": "seconds"}}
    topic = topic_of(TopicValue.model_validate({"event_time": "at", "arrival_time": "broker", "fields": at}))
    made = RecordGenerator(topic, BEGIN, timedelta(seconds=1), now=lambda: BEGIN)
    assert made.value(5) == b'{"at":1767225600,"proof_record":5}'
