"""A feed over a simulator: what `sluice check` says of its spec, and that it is sent like any other."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from sluice.feeds.record import FeedSource
from sluice.feeds.sources import load_source
from sluice.specs.load import load_catalog, scan
from sluice.specs.reading.faults import SpecFaults
from tests.editing import copy_project
from tests.twins.feed_topic import InMemoryTopic
from tests.unit.feeds.feed_bench import DyingProducer, KilledError, MemoryStore, feed

PROJECT = Path(__file__).parents[3]
TOPIC = """\
name: posts
partitions: 2
value:
  fields:
    post: {type: string, required: true}
    at: {type: timestamp}
    seen: {type: timestamp}
    lang: {type: string}
    tags: {type: array, items: {type: string}}
  event_time: at
  arrival_time: seen
raw: {table: posts_raw, driver: posts}
"""
FEED = """\
name: posts
topic: posts
source: simulate
key: lang
simulate:
  start: 2026-01-05
  length: 10 min
  rate: 1
  fields:
    post: {sequence: p}
    lang: {choice: {en: 3, de: 1}}
    tags: {zipf: 20, prefix: t, many: [0, 3]}
  disorder: {mean: 2 s, late: 0.05, late_by: 5 min}
  faults: {duplicates: 0.05, unreadable: 0.02}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A project with a simulated feed."""
    copy_project(tmp_path)
    (tmp_path / "include" / "topics" / "posts.yaml").write_text(TOPIC)
    (tmp_path / "include" / "feeds" / "posts.yaml").write_text(FEED)
    return tmp_path


def source(home: Path) -> FeedSource:
    catalog = load_catalog(home / "include")
    return load_source(catalog.feeds["posts"], catalog.topics["posts"], home / "include")


def faults(home: Path) -> list[str]:
    return [str(fault) for fault in scan(home / "include").faults]


def test_a_simulated_feed_is_sent_once_however_often_the_sender_dies(home: Path) -> None:
    assert faults(home) == []
    made, topic, store = source(home), InMemoryTopic(), MemoryStore()
    (day,) = made.days()
    deaths = 0
    while True:
        try:
            producer = DyingProducer(topic, 97)
            done = feed(made, topic, store, pipelines=(), producer=producer).send(heartbeat=False)
            break
        except KilledError:
            deaths += 1
    assert deaths > 3
    assert done.manifest.records == made.days()[day]
    extent = topic.extent()
    sent = Counter(record.value for record in topic.read(extent.beginnings, extent.ends))
    assert sent == Counter(record.payload for record in made.records(day, day))


def test_the_heartbeat_of_a_quiet_simulator_lies_behind_its_end_and_not_behind_its_last_record(home: Path) -> None:
    (home / "include" / "feeds" / "posts.yaml").write_text(
        FEED.replace("rate: 1\n", "rate: 0.002\n").replace("10 min", "2 hours")
    )
    made = source(home)
    (day,) = made.days()
    assert max(record.event for record in made.records(day, day)).hour < 2
    assert made.last_event(day, day) == datetime(2026, 1, 5, 1, 59, 59, 999_000, tzinfo=UTC)
    assert made.last_event(date(2026, 1, 4), date(2026, 1, 4)) is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    post: {sequence: p}\n", "", "posts.yaml:9: simulate.fields: the topic requires post"),
        ("lang: {choice", "language: {choice", "posts.yaml:11: simulate.fields.language: 'language' is no field"),
        ("lang: {choice", "seen: {choice", "posts.yaml:11: simulate.fields.seen: 'seen' is a time of the topic"),
        ("key: lang", "key: language", "posts.yaml:4: key: 'language' is no field of the topic"),
        ("{choice: {en: 3, de: 1}}", "{text: '{tags}'}", "'lang' needs 'tags', which is drawn after it"),
        ("{choice: {en: 3, de: 1}}", "{text: '{user}'}", "posts.yaml:11: simulate.fields.lang: it names 'user'"),
        ("{choice: {en: 3, de: 1}}", "{constant: en, per: user}", "'lang' is drawn per 'user', which is none of the"),
        (
            "post: {sequence: p}\n",
            "post: {sequence: p}\n    all: {sequence: q, many: [1, 2]}\n    one: {constant: 1, per: all}\n",
            "'one' is drawn per 'all', which has `many` values",
        ),
        ("  rate: 1\n", "", "`rate` says how many events there are of `fields`"),
        ("rate: 1\n", "rate: 100000\n", "makes about 60,000,000 events, and at most 5,000,000"),
        ("  rate: 1\n", "  rate: 1\n  line: '{post}'\n", "simulate.line: the values of the topic are json, and no"),
        ("start: 2026-01-05\n", "start: 2026-01-05T10:00:00\n", "no day and no time with its zone"),
        ("length: 10 min", "length: 0 min", "a length of 0 has no events"),
        ("late: 0.05, ", "", "write both or neither"),
        ("duplicates: 0.05", "duplicates: 0.99", "add up to 1.01"),
        ("source: simulate", "source: nycflights13", "it is of `source: simulate`, and this one is nycflights13"),
        ("  fields:\n", "  function: scenario:posts\n  fields:\n", "write one of the two"),
    ],
)
def test_a_wrong_simulation_is_told_at_its_line(home: Path, old: str, new: str, said: str) -> None:
    spec = home / "include" / "feeds" / "posts.yaml"
    assert old in FEED
    spec.write_text(FEED.replace(old, new, 1))
    assert any(said in fault for fault in faults(home)), faults(home)


def test_duplicates_need_an_arrival_time_in_the_record(home: Path) -> None:
    (home / "include" / "topics" / "posts.yaml").write_text(TOPIC.replace("arrival_time: seen", "arrival_time: broker"))
    assert any("a duplicate differs in its arrival time" in fault for fault in faults(home))


def test_lines_need_to_be_said_and_are_never_mistyped(home: Path) -> None:
    topic = TOPIC.replace("value:\n", "value:\n  format: csv\n").replace(
        "    tags: {type: array, items: {type: string}}\n", ""
    )
    (home / "include" / "topics" / "posts.yaml").write_text(topic)
    (home / "include" / "feeds" / "posts.yaml").write_text(FEED.replace("unreadable", "mistyped"))
    found = " ".join(faults(home))
    assert "`line` does not say how they are written" in found
    assert "a line of text is never mistyped" in found


def test_the_function_of_a_feed_is_there(home: Path) -> None:
    head = FEED[: FEED.index("  rate")]
    (home / "include" / "feeds" / "posts.yaml").write_text(f"{head}  function: scenario:posts\n")
    assert "posts.yaml:8: simulate.function: there is no file include/simulators/scenario.py." in " ".join(faults(home))
    with pytest.raises(SpecFaults):
        load_catalog(home / "include")
