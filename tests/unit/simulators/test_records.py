"""What a simulated feed sends: its events in the form of the topic, their disorder and their faults."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.errors import SpecError
from sluice.simulators.records import SimulatedRecord, simulated_records
from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.model.model import TopicValue
from sluice.topics.declared_time import read_time

VALUE: dict[str, Any] = {
    "fields": {
        "post": {"type": "string", "required": True},
        "at": {"type": "timestamp", "path": "$.commit.at"},
        "seen": {"type": "timestamp", "epoch": "milliseconds"},
        "words": {"type": "integer", "required": True},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "event_time": "at",
    "arrival_time": "seen",
}
SIMULATE: dict[str, Any] = {
    "start": "2026-01-05T08:00:00Z",
    "length": "10 min",
    "rate": 2,
    "fields": {
        "post": {"sequence": "p"},
        "words": {"uniform": [1, 50], "digits": 0},
        "tags": {"zipf": 9, "many": [0, 2]},
    },
}


def records(value: dict[str, Any] = VALUE, folder: Path = Path("nowhere"), **keys: Any) -> list[SimulatedRecord]:  # noqa: ANN401
    feed = {"name": "posts", "topic": "posts", "source": "simulate", "key": "post", "simulate": {**SIMULATE, **keys}}
    return simulated_records(FeedSpec.model_validate(feed), TopicValue.model_validate(value), folder)


def test_an_event_is_written_as_its_topic_declares_it() -> None:
    first = records(disorder={"mean": "2 s"})[0]
    content, declared = json.loads(first.value), TopicValue.model_validate(VALUE).fields
    assert set(content) == {"post", "commit", "seen", "words", "tags"}
    assert (content["post"], first.key) == ("p1", b"p1")
    assert read_time(content["commit"]["at"], declared["at"]) == first.moments.event
    assert read_time(content["seen"], declared["seen"]) == first.moments.arrival


def test_the_same_spec_makes_the_same_bytes_and_another_seed_does_not() -> None:
    faults = {"duplicates": 0.1, "unreadable": 0.1, "missing": 0.1, "mistyped": 0.1, "future": 0.1}
    keys: dict[str, Any] = {"faults": faults, "disorder": {"mean": "5 s", "late": 0.1, "late_by": "5 min"}}
    assert records(**keys) == records(**keys)
    assert records(seed=2, **keys) != records(seed=3, **keys)


def test_a_field_more_leaves_the_others_as_they_were() -> None:
    fewer = {name: drawn for name, drawn in SIMULATE["fields"].items() if name != "words"}
    changed = [json.loads(each.value) for each in records(fields=fewer)]
    whole = [json.loads(each.value) for each in records()]
    for content in whole:
        content.pop("words")
    assert changed == whole


def test_a_field_that_others_are_made_of_is_sent_only_if_the_topic_has_it() -> None:
    fields = {"n": {"sequence": ""}, "post": {"text": "post {n}"}, "words": {"constant": 1}}
    content = json.loads(records(fields=fields)[0].value)
    assert (content["post"], "n" in content) == ("post 1", False)


def kind_of(record: SimulatedRecord) -> str:
    """Return the fault that a reader finds in a record."""
    try:
        content = json.loads(record.value)
    except ValueError:
        return "unreadable"
    if not {"post", "words"} <= content.keys():
        return "missing"
    if not isinstance(content["words"], int) or not isinstance(content["tags"], list):
        return "mistyped"
    written = read_time(content["commit"]["at"])
    assert written is not None
    return "future" if written > record.moments.event + timedelta(days=300) else "good"


@pytest.mark.parametrize("fault", ["unreadable", "missing", "mistyped", "future"])
def test_as_many_events_have_a_fault_as_is_said_and_each_has_that_one(fault: str) -> None:
    found = [kind_of(each) for each in records(length="1 hour", faults={fault: 0.1})]
    assert set(found) == {"good", fault}
    assert found.count(fault) / len(found) == pytest.approx(0.1, rel=0.15)


def test_a_duplicate_differs_in_its_arrival_alone_and_follows_a_second_later() -> None:
    made = records(length="1 hour", faults={"duplicates": 0.1})
    by_post: dict[str, list[SimulatedRecord]] = {}
    for each in made:
        by_post.setdefault(json.loads(each.value)["post"], []).append(each)
    twice = [each for each in by_post.values() if len(each) > 1]
    assert len(twice) / len(by_post) == pytest.approx(0.1, rel=0.15)
    for first, again in twice:
        one, other = json.loads(first.value), json.loads(again.value)
        assert other["seen"] - one["seen"] == 1000
        assert {**one, "seen": 0} == {**other, "seen": 0}


@given(seed=st.integers(0, 10**6), share=st.floats(0, 0.2))
def test_no_two_records_are_the_same_bytes(seed: int, share: float) -> None:
    faults = dict.fromkeys(["duplicates", "unreadable", "missing", "mistyped", "future"], share)
    made = records(seed=seed, length="20 s", faults=faults)
    assert len({each.value for each in made}) == len(made)


def test_events_without_an_id_are_refused_because_two_are_the_same() -> None:
    fields = {"post": {"constant": "x"}, "words": {"constant": 1}}
    with pytest.raises(SpecError, match="two events of the feed posts are the same record") as caught:
        records(fields=fields, rate=500, length="10 s")
    assert "sequence" in caught.value.fix


def test_a_simulation_without_an_event_is_refused() -> None:
    with pytest.raises(SpecError, match="makes no event"):
        records(rate=0.0001, length="1 s")


LINES: dict[str, Any] = {
    "format": "text",
    "pattern": r'(?<host>[0-9.]+) \[(?<at>[^\]]+)\] "(?<path>[^"]*)"',
    "fields": {
        "host": {"type": "string", "required": True},
        "at": {"type": "timestamp", "format": "dd/MMM/yyyy:HH:mm:ss Z"},
        "path": {"type": "string"},
    },
    "event_time": "at",
    "arrival_time": "broker",
}


def test_a_topic_of_lines_gets_lines() -> None:
    fields = {"n": {"sequence": ""}, "host": {"constant": "10.0.0.1"}, "path": {"text": "/item/{n}"}}
    made = records(LINES, fields=fields, line='{host} [{at}] "{path}"', spacing="steady")
    assert made[0].value == b'10.0.0.1 [05/Jan/2026:08:00:00 +0000] "/item/1"'
    assert len(made) == 1200


def test_a_field_that_is_absent_leaves_nothing_in_its_place_in_the_line() -> None:
    fields = {"n": {"sequence": ""}, "path": {"text": "/{n}"}, "host": {"constant": "10.0.0.1", "absent": 0.5}}
    made = records(LINES, fields=fields, line='{host} [{at}] "{path}"', spacing="steady", length="20 s")
    starts = [each.value.partition(b"[")[0] for each in made]
    assert set(starts) == {b"10.0.0.1 ", b" "}
    assert 10 < starts.count(b" ") < 30


@pytest.mark.parametrize("part", ["Decimal('1.5')", "datetime(2026, 1, 5)", "'\\ud800'", "{1, 2}"])
def test_what_a_function_makes_and_json_has_not_is_refused_with_the_event(tmp_path: Path, part: str) -> None:
    (tmp_path / "simulators").mkdir()
    (tmp_path / "simulators" / "odd.py").write_text(
        "from datetime import datetime\nfrom decimal import Decimal\n"
        f"def made(random, start, end):\n    yield start, {{'post': 'p1', 'words': {part}}}\n",
        encoding="utf-8",
    )
    simulate = {"start": "2026-01-05T08:00:00Z", "length": "10 min", "function": "odd:made"}
    feed = FeedSpec.model_validate({"name": "posts", "topic": "posts", "source": "simulate", "simulate": simulate})
    with pytest.raises(SpecError, match=r"the event \{'post': 'p1', 'words': .* cannot be written"):
        simulated_records(feed, TopicValue.model_validate(VALUE), tmp_path)
