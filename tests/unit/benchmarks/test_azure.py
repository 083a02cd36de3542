"""The telemetry of the benchmark `azure`, and what a reader's view of it comes to."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.azure.figures import NEVER, Seen
from benchmarks.azure.project import RESULTS, TOPIC, write_project
from benchmarks.azure.telemetry import DEVICES, DOUBLES, TYPES, Telemetry, keys, sending_order
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.load import load_catalog
from sluice.specs.model.model import FieldType
from sluice.topics.declared_time import read_time
from sluice.topics.declared_value import parse_fields

BEGIN = 1_800_000_000_000
TELEMETRY = Telemetry(BEGIN, 10_000)
PYTHON = {FieldType.STRING: str, FieldType.LONG: int, FieldType.DOUBLE: float, FieldType.TIMESTAMP: str}


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    home: Path = tmp_path_factory.mktemp("azure")
    write_project(home)
    return load_catalog(home / "include")


@given(count=st.integers(0, 300), within=st.integers(1, 50), every=st.integers(1, 20))
def test_each_event_is_sent_and_one_of_so_many_once_more_soon_after(count: int, within: int, every: int) -> None:
    order = list(sending_order(count, within, every=every))
    assert list(dict.fromkeys(order)) == list(range(count))
    repeated = {number: times for number, times in Counter(order).items() if times > 1}
    assert repeated == dict.fromkeys(range(0, count, every), 2)
    for number in repeated:
        first, second = (place for place, sent in enumerate(order) if sent == number)
        assert len({sent for sent in order[first:second] if sent > number}) < within


def test_a_thousandth_is_sent_twice_and_mostly_much_later() -> None:
    order = list(sending_order(100_000, 20_000))
    assert len(order) == 100_100
    first = {number: place for place, number in reversed(list(enumerate(order)))}
    distances = [place - first[number] for place, number in enumerate(order) if place != first[number]]
    assert sum(distance > 5_000 for distance in distances) > 50


def test_a_repetition_has_the_same_bytes() -> None:
    assert TELEMETRY.event(7_000) == Telemetry(BEGIN, 10_000).event(7_000)


def test_events_are_created_at_a_steady_rate_and_say_so() -> None:
    assert [TELEMETRY.created(number) - BEGIN for number in (0, 9, 10, 10_000, 600_000)] == [0, 0, 1, 1_000, 60_000]
    created = json.loads(TELEMETRY.event(12_345).value)["createdAt"]
    assert datetime.fromisoformat(created).timestamp() * 1_000 == TELEMETRY.created(12_345)


def test_devices_take_turns_and_each_counts_its_events() -> None:
    events = [TELEMETRY.event(number) for number in range(2 * DEVICES + 1)]
    assert [event.key for event in events[:DEVICES]] == keys()
    of_first = [json.loads(event.value) for event in events if event.key == keys()[0]]
    assert [value["deviceSequenceNumber"] for value in of_first] == [0, 1, 2]
    assert {value["deviceId"] for value in of_first} == {keys()[0].decode()}


def test_an_id_says_which_event_it_is_and_of_which_run() -> None:
    identity = json.loads(TELEMETRY.event(1_234_567).value)["eventId"]
    assert TELEMETRY.number_of(identity) == 1_234_567
    assert Telemetry(BEGIN, 10_000, run=2).number_of(identity) is None


def test_an_event_is_about_a_kilobyte_with_the_doubles_of_the_sample() -> None:
    sizes = [len(TELEMETRY.event(number).value) for number in range(1_000)]
    assert 900 < min(sizes) <= max(sizes) < 1_100
    assert len(json.loads(TELEMETRY.event(0).value)["complexData"]) == DOUBLES


def test_every_declared_field_is_in_every_event_at_its_path_with_its_type(catalog: Catalog) -> None:
    declared = catalog.topics[TOPIC].value
    for number in range(200):
        fields = parse_fields(TELEMETRY.event(number).value, declared)
        for name, field in declared.fields.items():
            assert type(fields[name]) is PYTHON[field.type], name
        assert read_time(fields["created_at"], declared.fields["created_at"]) == datetime.fromtimestamp(
            TELEMETRY.created(number) / 1_000, UTC
        )
        assert 0 <= fields["value"] <= 1
        assert fields["type"] in TYPES


def test_the_project_is_sound_and_its_output_has_the_brokers_times(catalog: Catalog) -> None:
    topics = catalog.kafka_topics()
    stamps = {name: topics[name].configs["message.timestamp.type"] for name in (TOPIC, RESULTS)}
    assert set(stamps.values()) == {"LogAppendTime"}


def seen(*rows: tuple[int, int, int]) -> Seen:
    """Return events with their creation and first reading (seconds after `BEGIN`; -1: never), and how often."""
    created, after, times = zip(*rows, strict=True)
    readable = [NEVER if second < 0 else BEGIN + 1_000 * second for second in after]
    return Seen(BEGIN + 1_000 * np.array(created), np.array(readable), np.array(times))


def test_the_worst_minute_is_the_one_with_the_greatest_average() -> None:
    found = seen((0, 1, 1), (59, 62, 1), (60, 64, 1), (119, 121, 1), (120, 220, 1))
    figures = found.figures(BEGIN, 2)
    assert figures["worst_minute_s"] == 3.0  # minute 0: 1 and 3; minute 1: 4 and 2; the third is not counted
    assert [list(waits) for waits in found.waits(BEGIN, 2)] == [[1.0, 3.0], [4.0, 2.0]]


def test_the_minutes_that_do_not_count_are_left_out() -> None:
    found = seen((0, 50, 1), (60, 61, 1))
    assert found.figures(BEGIN + 60_000, 1)["worst_minute_s"] == 1.0


def test_the_rate_is_that_of_the_slowest_minute_by_when_events_could_be_read() -> None:
    found = seen(*[(0, 1, 1)] * 600, *[(59, 61, 1)] * 300, (61, 130, 1))
    assert found.rates(BEGIN, 2) == [10.0, 5.0]
    assert found.figures(BEGIN, 2)["achieved_rate"] == 5


def test_p99_is_over_all_minutes() -> None:
    found = seen(*[(0, 1, 1)] * 99, *[(60, 61, 1)] * 97, *[(60, 70, 1)] * 4)
    assert found.figures(BEGIN, 2)["p99_s"] == 10.0


def test_what_never_came_out_is_lost_and_what_came_again_is_a_duplicate() -> None:
    figures = seen((0, 1, 1), (1, -1, 0), (2, 3, 4), (3, 4, 2)).figures(BEGIN, 1)
    assert (figures["lost"], figures["duplicates"]) == (1, 4)
    assert figures["worst_minute_s"] == 1.0
