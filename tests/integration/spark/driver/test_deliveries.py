"""Rows, newest rows and topics under drivers that die at the worst moments: nothing lost, nothing twice."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.streams.failures.exits import ExitCode
from tests.integration.spark.conftest import DriverPlace
from tests.integration.spark.driver.deliveries import consumed, departures_everywhere, only_delays
from tests.oracle import departures, differences, flights

DAYS = ("2013-01-01", "2013-01-02")
LATE_AFTER_MINUTES = 180


def departed() -> pd.DataFrame:
    """Return the flights that the pipeline `delays` must deliver, by the test's own reading of the data."""
    table = flights(*DAYS)
    return table[table["dep_time"].notna() & (table["dep_delay"] <= LATE_AFTER_MINUTES)]


def kill(place: DriverPlace, *failpoints: str, generation: int = 1) -> None:
    for failpoint in failpoints:
        killed = place.run(failpoint=failpoint, generation=generation)
        assert killed.returncode == -9, killed.stdout[-3000:] + killed.stderr[-3000:]
        assert place.fired(failpoint)


def finish(place: DriverPlace, generation: int) -> None:
    finished = place.run(generation=generation)
    assert finished.returncode == ExitCode.STOPPED, finished.stdout[-3000:] + finished.stderr[-3000:]


ALL_THREE = """\
  - {{kind: rows, table: delays}}
  - {{kind: latest, table: slowest, keys: [carrier], newest_by: delay}}
  - {{kind: topic, topic: {topic}, keys: [carrier], create: {{partitions: 2}}}}
"""


def assert_each_flight_once(place: DriverPlace, broker: BrokerProcess, topic: str) -> None:
    expected = departed()
    rows = place.table("delays")
    assert sorted(rows["flight_id"]) == sorted(expected.index)
    found, wanted = place.table("slowest").set_index("carrier")["delay"], expected.groupby("carrier")["dep_delay"].max()
    assert found.to_dict() == wanted.astype(int).to_dict()
    assert sorted(value["flight_id"] for value in consumed(broker.bootstrap, topic).once) == sorted(expected.index)


@pytest.mark.verify
@pytest.mark.timeout(900)
def test_rows_newest_rows_and_records_survive_kills_between_and_around_them(
    place: DriverPlace, broker: BrokerProcess, two_days: int, topic_name: str
) -> None:
    assert two_days
    own = only_delays(place, ALL_THREE.format(topic=topic_name))
    kill(own, "between_outputs@slowest", f"after_write_before_commit@{topic_name}:2")
    finish(own, generation=2)
    assert_each_flight_once(own, broker, topic_name)
    # The control: whoever takes every record counts flights twice, or the kills proved nothing.
    assert len(consumed(broker.bootstrap, topic_name).records) > len(departed())

    # A lost checkpoint: everything is read again, and nothing is delivered again.
    records, rows = len(consumed(broker.bootstrap, topic_name).records), len(own.table("delays"))
    shutil.rmtree(own.state / "checkpoints" / "delays")
    finish(own, generation=3)
    assert (len(consumed(broker.bootstrap, topic_name).records), len(own.table("delays"))) == (records, rows)

    zombie = own.run(generation=2)
    assert zombie.returncode == ExitCode.FENCED, zombie.stdout[-2000:]
    assert_each_flight_once(own, broker, topic_name)


@pytest.mark.verify
@pytest.mark.timeout(1200)
def test_rows_and_newest_rows_survive_every_other_moment(
    place: DriverPlace, broker: BrokerProcess, two_days: int, topic_name: str
) -> None:
    assert two_days
    own = only_delays(place, ALL_THREE.format(topic=topic_name))
    # One death further each time: through the first batch, output by output, then into the second.
    kill(
        own,
        *("before_write@delays", "mid_write@delays", "before_write@slowest"),
        *(f"between_outputs@{topic_name}", f"before_write@{topic_name}", "after_write_before_commit@delays"),
        *("after_write_before_commit@slowest", f"after_write_before_commit@{topic_name}"),
    )
    finish(own, generation=2)
    assert_each_flight_once(own, broker, topic_name)


@pytest.mark.verify
@pytest.mark.timeout(900)
def test_a_merge_that_dies_between_its_files_and_its_commit_changes_nothing(place: DriverPlace, two_days: int) -> None:
    assert two_days
    own = only_delays(place, "  - {kind: latest, table: slowest, keys: [carrier], newest_by: delay}\n")
    before = own.state.with_name("before")
    shutil.copytree(own.state, before)
    for _ in range(10):  # a few milliseconds, which a busy machine may sleep through: then the same once more
        killed = own.run(failpoint="mid_write@slowest")
        if own.fired("mid_write@slowest"):
            break
        assert killed.returncode == ExitCode.STOPPED, killed.stdout[-3000:] + killed.stderr[-3000:]
        shutil.rmtree(own.state)
        shutil.copytree(before, own.state)
    assert killed.returncode == -9
    assert own.table("slowest").empty
    finish(own, generation=2)
    wanted = departed().groupby("carrier")["dep_delay"].max().astype(int).to_dict()
    assert own.table("slowest").set_index("carrier")["delay"].to_dict() == wanted


@pytest.mark.verify
@pytest.mark.timeout(900)
def test_open_values_survive_kills_and_agree_with_the_oracle(
    place: DriverPlace, broker: BrokerProcess, two_days: int, topic_name: str
) -> None:
    assert two_days
    own = departures_everywhere(place, topic_name)
    kill(own, "between_outputs", f"after_write_before_commit@{topic_name}:2")
    finish(own, generation=2)
    expected = departures(*DAYS)
    assert differences(own.table("departures"), expected) == []
    assert differences(own.table("departures_latest"), expected) == []
    found = consumed(broker.bootstrap, topic_name)
    told = pd.DataFrame(found.newest.values())
    told["hour"] = pd.to_datetime(told["hour"])
    assert differences(told, expected) == []
    assert len(found.records) > len(found.once) > len(expected), "values were told as they grew, and a part twice"


@pytest.mark.verify
@pytest.mark.timeout(600)
def test_at_most_once_loses_the_batch_of_a_crash_and_repeats_nothing(
    place: DriverPlace, broker: BrokerProcess, two_days: int, topic_name: str
) -> None:
    assert two_days
    output = f"  - {{kind: topic, topic: {topic_name}, keys: [carrier], create: {{partitions: 2}}, "
    own = only_delays(place, output + "delivery: at_most_once}\n")
    kill(own, f"after_mark@{topic_name}:2")
    finish(own, generation=2)
    told = [value["flight_id"] for value in consumed(broker.bootstrap, topic_name).records]
    assert len(told) == len(set(told))
    lost = set(departed().index) - set(told)
    assert lost
    assert set(told) < set(departed().index)
    assert len(lost) < len(told), "only one of several batches"


@pytest.mark.verify
@pytest.mark.timeout(300)
def test_a_rows_output_of_a_transform_with_state_is_refused(place: DriverPlace, two_days: int) -> None:
    assert two_days
    own = only_delays(place, "  - {kind: rows, table: delays}\n")
    transform = own.home / "spark_jobs" / "transforms" / "delays.py"
    counted = (
        transform.read_text()
        .replace('"flight_id", "carrier"', '"carrier"')
        .replace(
            'F.col("dep_delay_min").alias("delay")\n    )',
            'F.col("dep_delay_min").alias("delay")\n    ).dropDuplicates()',
        )
    )
    transform.write_text(counted)
    refused = own.run()
    assert refused.returncode not in (0, -9)
    assert "keeps state (Deduplicate)" in refused.stdout + refused.stderr + last_words(own)


def last_words(place: DriverPlace) -> str:
    return "".join(file.read_text() for file in place.state.rglob("failure.json"))
