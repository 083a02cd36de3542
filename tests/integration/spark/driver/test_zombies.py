"""Two drivers forced upon one stream: the older one falls asleep at bad moments and wakes up beside its successor.

Real drivers, on one checkpoint and on two. The same is done to a driver whose raw sink appends what it is given: if it
were not convicted, the others' innocence would prove nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.streams.failures.exits import ExitCode
from tests.integration.spark.conftest import DriverPlace, Feed, RunningDriver, place_at
from tests.integration.spark.driver.test_exactly_once import assert_exact
from tests.matrix.recording import FaultRecorder
from tests.oracle import departures, differences

pytestmark = [pytest.mark.verify, pytest.mark.timeout(600)]

EXPECTED = departures("2013-01-01", "2013-01-02")
NAIVE = '''"""The control: a driver whose raw sink appends every batch that it is given, and asks nobody."""

import runpy

from sluice.spark.sinks import raw
from sluice.failpoints import failpoint


def append(self, rows, batch_id):
    rows.write.format("delta").mode("append").save(str(self._folder))
    failpoint("after_write_before_commit", self._folder.name)


raw.RawSink.__call__ = append
raw.RawSink.check_fence = lambda self: None
runpy.run_path({main!r}, run_name="__main__")
'''


@pytest.fixture
def place(own_broker: BrokerProcess, tmp_path: Path) -> DriverPlace:
    """An empty state folder that knows a broker of its own."""
    return place_at(tmp_path / "state", own_broker)


@pytest.fixture
def feed(own_broker: BrokerProcess) -> Feed:
    return Feed(own_broker.bootstrap)


@pytest.fixture
def elsewhere(place: DriverPlace, own_broker: BrokerProcess, tmp_path: Path) -> DriverPlace:
    """Another state folder, with checkpoints of its own and the same tables."""
    other = place_at(tmp_path / "elsewhere", own_broker)
    (place.state / "tables").mkdir()
    (other.state / "tables").symlink_to(place.state / "tables")
    return other


def naive(place: DriverPlace) -> DriverPlace:
    """Return the place with a project whose drivers append without a thought."""
    own = place.with_own_project()
    main = own.home / "spark_jobs" / "stream.py"
    main.write_text(NAIVE.format(main=str(place.home / "spark_jobs" / "stream.py")))
    return own


def read(place: DriverPlace) -> int:
    """Return how many records the raw table holds."""
    begun = place.state / "tables" / "flights_raw" / "_delta_log" / f"{0:020}.json"
    return len(place.table("flights_raw")) if begun.exists() else 0


def has_read(driver: RunningDriver, place: DriverPlace, records: int) -> None:
    driver.eventually(lambda: read(place) >= records, f"has read {records}")


def has_published_all(driver: RunningDriver, place: DriverPlace) -> None:
    driver.eventually(lambda: not differences(place.table("departures"), EXPECTED), "has published all")
    if (place.state / "tables" / "departures_live").exists():  # its rows go a moment later
        driver.eventually(lambda: place.table("departures_live").empty, "has removed what is published")


def is_at_rest(driver: RunningDriver, place: DriverPlace, *, live: int = 1) -> None:
    """Wait until every batch is done that is planned or follows a moved watermark: what comes next is a plan.

    Args:
        driver: it.
        place: where it works.
        live: the least number of the live stream's newest batch. The second one has no records; a driver that goes on
            behind the first one plans it only when records come.
    """
    least = {"raw_flights": 0, "departures": 0, "departures_live": live}

    def newest(stream: str, log: str) -> int:
        files = (place.state / "checkpoints" / stream / log).glob("[0-9]*")
        return max((int(file.name) for file in files), default=-1)

    def rested() -> bool:
        return all(newest(stream, "offsets") == newest(stream, "commits") >= batch for stream, batch in least.items())

    driver.eventually(rested, "is at rest")


def is_under_way(driver: RunningDriver, place: DriverPlace, generation: int) -> None:
    """Wait until a driver's raw stream has looked for records: it has marked the tables before."""
    file = place.state / "progress" / "raw_flights.json"
    driver.eventually(
        lambda: file.exists() and json.loads(file.read_text())["generation"] == generation, "is under way"
    )


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param("before_write@flights_raw", id="raw batch planned"),
        pytest.param("after_write_before_commit@flights_raw", id="raw batch written"),
        pytest.param("before_write@departures", id="windows closed"),
    ],
)
@pytest.mark.proves("zombie")
def test_a_driver_that_wakes_up_beside_its_successor_is_fenced_and_the_successor_goes_on(
    place: DriverPlace, feed: Feed, moment: str, faults: FaultRecorder
) -> None:
    feed.send(0.5)
    with place.driver(1, failpoint=f"{moment}=pause") as old:
        old.asleep()
        assert place.fired(f"{moment}=pause")
        with place.driver(2) as new:
            is_at_rest(new, place, live=0)
            old.wake()
            faults.struck(f"stopped at {moment} with its marker, and woken up beside generation 2")
            assert old.process.wait(90) == ExitCode.FENCED, old.log.read_text()[-3000:]

            feed.send_rest()
            has_read(new, place, feed.sent)
            has_published_all(new, place)
            faults.recovered()
            assert new.stop() == ExitCode.STOPPED, new.log.read_text()[-3000:]
    faults.counted(place.census(feed.sent_values))
    assert_exact(place, feed.sent)


@pytest.mark.proves("second-driver")
def test_a_plan_of_a_driver_that_woke_up_costs_its_successor_one_restart_and_no_record(
    place: DriverPlace, feed: Feed, faults: FaultRecorder
) -> None:
    feed.send(0.5)
    with place.driver(1) as old:
        is_at_rest(old, place)
        old.sleep()
        with place.driver(2) as new:
            is_under_way(new, place, 2)
            new.sleep()
            feed.send_rest()
            old.wake()  # it plans the next batch before its successor can
            assert old.process.wait(90) == ExitCode.FENCED, old.log.read_text()[-3000:]
            new.wake()
            assert new.process.wait(90) == ExitCode.TRANSIENT, new.log.read_text()[-3000:]
            assert "CONCURRENT_STREAM_LOG_UPDATE" in new.log.read_text()
            faults.struck("both drivers ended: one fenced, one by CONCURRENT_STREAM_LOG_UPDATE")
    finished = place.run(generation=3)
    assert finished.returncode == ExitCode.STOPPED, finished.stdout[-2000:]
    faults.recovered()
    faults.counted(place.census(feed.sent_values))
    assert_exact(place, feed.sent)


@pytest.mark.proves("second-driver")
def test_of_two_drivers_on_two_checkpoints_the_older_is_fenced_and_nothing_is_written_twice(
    place: DriverPlace, elsewhere: DriverPlace, feed: Feed, faults: FaultRecorder
) -> None:
    feed.send(0.5)
    with place.driver(1) as old:
        has_read(old, place, feed.sent)
        with elsewhere.driver(2) as new:
            is_under_way(new, elsewhere, 2)
            feed.send_rest()
            assert old.process.wait(90) == ExitCode.FENCED, old.log.read_text()[-3000:]
            faults.struck("of two living drivers the older one ended as FENCED")
            has_read(new, place, feed.sent)
            has_published_all(new, place)
            faults.recovered()
            assert new.stop() == ExitCode.STOPPED, new.log.read_text()[-3000:]
    faults.counted(place.census(feed.sent_values))
    assert_exact(place, feed.sent)


def test_the_naive_control_repeats_records_on_one_checkpoint(place: DriverPlace, feed: Feed) -> None:
    control, moment = naive(place), "after_write_before_commit@flights_raw"
    feed.send(0.5)
    with control.driver(1, failpoint=f"{moment}=pause") as old:
        old.asleep()
        with control.driver(2) as new:
            has_read(new, place, 2 * feed.sent)
    assert_convicted(place)


def test_the_naive_control_repeats_records_on_two_checkpoints(
    place: DriverPlace, elsewhere: DriverPlace, feed: Feed
) -> None:
    control = naive(place)
    feed.send(0.5)
    with control.driver(1) as old:
        has_read(old, place, feed.sent)
        with DriverPlace(elsewhere.state, control.home).driver(2) as new:
            has_read(new, place, 2 * feed.sent)
    assert_convicted(place)


def assert_convicted(place: DriverPlace) -> None:
    assert place.table("flights_raw").duplicated(["topic_id", "partition", "offset"]).any()
