"""Machines are lost with all that is on them: what is in the bucket and in Kafka is enough to go on exactly."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from sluice.delta.reading import read_rows
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.storage.bucket_folder import BucketFolder
from sluice.streams.failures.exits import ExitCode
from tests.buckets import BucketServer
from tests.integration.spark.conftest import DriverPlace, Feed, place_at
from tests.oracle import departures, differences

pytestmark = [pytest.mark.verify, pytest.mark.timeout(900)]


def on_a_new_machine(folder: Path, broker: BrokerProcess, bucket: BucketFolder, *, collected: str) -> DriverPlace:
    """Return an empty state folder and a project whose tables are in a bucket."""
    place = place_at(folder / "state", broker).with_departures(
        f'spark: {{spark.sluice.collect.records: "{collected}"}}'
    )
    deployment = place.home / "include" / "deployments" / "local.yaml"
    deployment.write_text(f"{deployment.read_text()}storage: {bucket}\n")
    return place


def table(bucket: BucketFolder, name: str) -> pd.DataFrame:
    return read_rows(bucket / "tables" / name).to_pandas()


@pytest.mark.parametrize("collected", ["50000", "0"], ids=["committed from memory", "written by Spark"])
def test_a_new_machine_goes_on_where_the_lost_one_was(
    own_broker: BrokerProcess, tmp_path: Path, store: BucketServer, collected: str
) -> None:
    bucket, feed = store.new_bucket() / "of sluice", Feed(own_broker.bootstrap)
    feed.send(0.5)
    lost = on_a_new_machine(tmp_path / "lost", own_broker, bucket, collected=collected)
    killed = lost.run(failpoint="after_write_before_commit@flights_raw")
    assert killed.returncode == -9, killed.stdout[-3000:]
    shutil.rmtree(lost.state.parent)
    assert len(table(bucket, "flights_raw")) > 0

    feed.send_rest()
    new = on_a_new_machine(tmp_path / "new", own_broker, bucket, collected=collected)
    finished = new.run(generation=2)
    assert finished.returncode == ExitCode.STOPPED, finished.stdout[-3000:]
    assert not (new.state / "tables").exists()
    assert differences(table(bucket, "departures"), departures("2013-01-01", "2013-01-02")) == []
    raw = table(bucket, "flights_raw")
    assert len(raw) == feed.sent
    assert not raw.duplicated(["topic_id", "partition", "offset"]).any()
