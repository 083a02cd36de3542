"""Machines are lost with all that is on them: what is in the bucket and in Kafka is enough to go on exactly."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sluice.delta.reading import read_rows
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.storage.bucket_folder import BucketFolder
from sluice.streams.failures.exits import ExitCode
from tests.buckets import BucketServer
from tests.integration.spark.backfill.backfills import RANGE
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


def test_a_backfill_compares_and_publishes_in_the_bucket_from_a_machine_without_a_record(
    own_broker: BrokerProcess, tmp_path: Path, store: BucketServer
) -> None:
    bucket = store.new_bucket() / "of sluice"
    Feed(own_broker.bootstrap).send_rest()
    first = on_a_new_machine(tmp_path / "first", own_broker, bucket, collected="50000")
    finished = first.run()
    assert finished.returncode == ExitCode.STOPPED, finished.stdout[-3000:]
    shutil.rmtree(first.state.parent)

    second = on_a_new_machine(tmp_path / "second", own_broker, bucket, collected="50000")
    bounds = ("--from", f"{RANGE.start:%FT%RZ}", "--to", f"{RANGE.end:%FT%RZ}")
    ended = sluice(second, "backfill", "run", "departures", *bounds, "--mode", "correct")
    assert (ended["state"], ended["outcome"], ended["result"]["unexplained"]) == ("done", "explained", 0)
    assert ended["result"]["published"] > 0
    assert differences(table(bucket, "departures"), departures("2013-01-01", "2013-01-02", with_late=True)) == []
    assert second.project().streams.life("flights").marked("flights") == 1
    assert not (second.state / "tables").exists()


def sluice(place: DriverPlace, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-c", "from sluice.cli.main import main; main()", *arguments, "-o", "json"]
    ended = subprocess.run(command, env=place.environment(), capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found
