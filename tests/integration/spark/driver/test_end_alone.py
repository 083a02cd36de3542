"""A stream that fails ends alone: the raw stream beside it goes on, and what time heals is started again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.streams.failures.exits import ExitCode
from sluice.streams.failures.failure import FailureClass
from sluice.streams.life.driver_files import ended_alone
from tests.editing import edit
from tests.integration.spark.conftest import DriverPlace, Feed, place_at
from tests.oracle import departures, differences

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def fresh(own_broker: BrokerProcess, tmp_path: Path) -> DriverPlace:
    """An empty state folder that knows a broker of its own, and a project to be broken."""
    return place_at(tmp_path / "state", own_broker).with_own_project()


def progress_of(place: DriverPlace, *streams: str) -> list[Path]:
    return [place.project().folder.progress_file(stream) for stream in streams]


def rows_in(place: DriverPlace, table: str) -> int:
    return len(place.table(table)) if (place.state / "tables" / table / "_delta_log").is_dir() else 0


@pytest.mark.verify
def test_a_transform_that_fails_at_a_record_leaves_the_raw_stream_beside_it_whole(
    own_broker: BrokerProcess, fresh: DriverPlace
) -> None:
    transform = fresh.home / "spark_jobs" / "transforms" / "departures.py"
    zero = 'F.col("dep_delay_min") - F.col("dep_delay_min")'
    edit(transform, "F.max(delay)", f"F.max(delay / ({zero}))")
    feed = Feed(own_broker.bootstrap)
    feed.send(0.2)
    pipelines = progress_of(fresh, "departures", "departures_live")
    with fresh.driver(generation=1) as driver:
        driver.eventually(lambda: all(ended_alone(file, 1) for file in pipelines), "ends both streams of the pipeline")
        said = ended_alone(pipelines[0], 1)
        assert said is not None
        assert (said.kind, said.stream) == (FailureClass.CODE, "departures")
        assert said.error.startswith("DIVIDE_BY_ZERO")
        sent = feed.send(0.3)
        driver.eventually(lambda: rows_in(fresh, "flights_raw") == sent, "keeps what comes meanwhile")
        assert driver.stop() == ExitCode.STOPPED
    assert rows_in(fresh, "departures") == 0


@contextmanager
def out_of_reach(log: Path) -> Iterator[None]:
    """Let nobody commit to a table for a while."""
    kept = log.with_name("kept")
    log.rename(kept)
    log.touch()
    yield
    log.unlink()
    kept.rename(log)


@pytest.mark.verify
def test_a_stream_whose_table_could_not_be_written_is_started_again_in_its_driver(
    own_broker: BrokerProcess, fresh: DriverPlace
) -> None:
    feed = Feed(own_broker.bootstrap)
    feed.send(0.2)
    assert fresh.run(generation=1).returncode == ExitCode.STOPPED
    (file,) = progress_of(fresh, "departures")
    with fresh.driver(generation=2) as driver:
        driver.eventually(lambda: '"generation": 2' in file.read_text(), "starts")
        with out_of_reach(fresh.state / "tables" / "departures" / "_delta_log"):
            feed.send(0.5)
            driver.eventually(lambda: ended_alone(file, 2) is not None, "ends the stream")
        said = ended_alone(file, 2)
        assert said is not None
        assert said.again_at is not None, str(said)
        feed.send_rest()
        wanted = departures("2013-01-01", "2013-01-02")
        driver.eventually(lambda: rows_in(fresh, "departures") == len(wanted), "starts it again", deadline_seconds=400)
        driver.eventually(lambda: ended_alone(file, 2) is None, "says that the stream goes on")  # with its next report
        assert driver.stop() == ExitCode.STOPPED
    assert differences(fresh.table("departures"), wanted) == []
    assert rows_in(fresh, "flights_raw") == feed.sent
