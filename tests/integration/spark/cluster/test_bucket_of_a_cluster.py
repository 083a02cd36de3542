"""Executors of a cluster read and write a bucket, by credentials that only their driver's environment holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen
from uuid import uuid4

import pandas as pd
import pytest

from sluice.delta.reading import read_rows
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.settings import Settings
from sluice.storage.bucket_folder import BucketFolder, forget_stores
from sluice.streams.failures.exits import ExitCode
from sluice.streams.life.driver_files import spark_ui_address
from tests.buckets import BucketServer
from tests.integration.clusters import RunningCluster, running_cluster
from tests.integration.spark.backfill.backfills import RANGE
from tests.integration.spark.conftest import DriverPlace, Feed
from tests.oracle import departures, differences

pytestmark = [pytest.mark.verify, pytest.mark.timeout(1200)]

DAYS = ("2013-01-01", "2013-01-02")
BY_SPARK = 'spark: {spark.sluice.collect.records: "0", spark.driver.maxResultSize: 45k}'
"""Nothing is small enough for the driver's memory: executors write what is otherwise brought there."""


@pytest.fixture
def credentials(store: BucketServer, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Credentials that are found in no text by chance."""
    own = {name: f"{name.lower()}-{uuid4().hex}" for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    assert own.keys() <= store.variables.keys()
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    forget_stores()
    return tuple(own.values())


@pytest.fixture
def cluster(credentials: tuple[str, ...], store: BucketServer, tmp_path: Path) -> Iterator[RunningCluster]:
    """A cluster whose workers know nothing of the bucket."""
    assert credentials
    bare = pytest.MonkeyPatch()
    for name in store.variables:
        bare.delenv(name)
    with running_cluster(tmp_path / "cluster", 2) as cluster:
        bare.undo()
        yield cluster


def place_on(
    tmp_path: Path, broker: BrokerProcess, cluster: RunningCluster, bucket: BucketFolder, *, host: str = "127.0.0.1"
) -> DriverPlace:
    """Return a project whose tables are in a bucket; a driver takes another `host` than 127.0.0.1 for elsewhere."""
    master = f"spark://{host}:{cluster.cluster.port}"
    endpoints = Endpoints((broker.bootstrap,), "", master, cluster.cluster.page)
    write_endpoints(Settings(state=tmp_path / "state").folder, endpoints)
    place = DriverPlace(tmp_path / "state").with_departures(BY_SPARK)
    (tmp_path / "events").mkdir()
    settings = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": (tmp_path / "events").as_uri()}
    deployment = place.home / "include" / "deployments" / "local.yaml"
    deployment.write_text(f"{deployment.read_text()}storage: {bucket}\nspark: {json.dumps({'settings': settings})}\n")
    return place


def without_state(place: DriverPlace) -> None:
    """Take the live output away, whose query keeps a state."""
    spec = place.home / "include" / "pipelines" / "departures.yaml"
    before, found, after = spec.read_text().partition("  - kind: latest")
    assert found
    spec.write_text(f"{before}{after[after.index('driver: flights') :]}")


def table(bucket: BucketFolder, name: str) -> pd.DataFrame:
    return read_rows(bucket / "tables" / name).to_pandas()


def assert_exact(bucket: BucketFolder, records: int) -> None:
    assert differences(table(bucket, "departures"), departures(*DAYS)) == []
    raw = table(bucket, "flights_raw")
    assert len(raw) == records
    assert not raw.duplicated(["topic_id", "partition", "offset"]).any()


def test_executors_write_what_they_compute_and_their_credentials_are_shown_nowhere(
    own_broker: BrokerProcess,
    store: BucketServer,
    cluster: RunningCluster,
    credentials: tuple[str, ...],
    tmp_path: Path,
) -> None:
    bucket, feed = store.new_bucket() / "of sluice", Feed(own_broker.bootstrap)
    feed.send_rest()
    place = place_on(tmp_path, own_broker, cluster, bucket)
    without_state(place)
    written = [{"kind": "slow", "contains": part, "seconds": 0} for part in ("flights_raw/_drafts", "staging/settle_")]
    store.make_faults(*written)
    with place.driver(1) as running:
        published = (bucket / "tables" / "departures").exists
        running.eventually(lambda: published() and len(table(bucket, "departures")) > 0, "publishes")
        shown = [*_command_lines(), *_pages(place, cluster)]
        assert running.stop() == ExitCode.STOPPED
    assert store.faults_made()["slow"] > 0
    finished = place.run(generation=2)
    assert finished.returncode == ExitCode.STOPPED, finished.stdout[-3000:]
    assert_exact(bucket, feed.sent)

    bounds = ("--from", f"{RANGE.start:%FT%RZ}", "--to", f"{RANGE.end:%FT%RZ}")
    ended = place.sluice("backfill", "run", "departures", *bounds, "--mode", "correct")
    assert (ended["state"], ended["outcome"], ended["result"]["unexplained"]) == ("done", "explained", 0)
    assert ended["result"]["published"] > 0
    assert not any(name.endswith(".parquet") for name in (bucket / "staging").below())

    files = [path for folder in (tmp_path / "events", cluster.cluster.folder) for path in folder.rglob("*")]
    shown += [path.read_bytes() for path in files if path.is_file() and path.suffix != ".jar"]
    assert len(shown) > 20
    assert any(b"spark.hadoop.fs.s3a.endpoint" in each for each in shown), "a setting is shown where it should be"
    for secret in credentials:
        assert not any(secret.encode() in each for each in shown)
    assert not (place.state / "tables").exists()
    assert not (place.state / "staging").exists()


def test_executors_elsewhere_get_their_jars_from_the_driver_and_no_state_to_keep(
    own_broker: BrokerProcess, store: BucketServer, cluster: RunningCluster, tmp_path: Path
) -> None:
    bucket, feed = store.new_bucket() / "of sluice", Feed(own_broker.bootstrap)
    feed.send_rest()
    place = place_on(tmp_path, own_broker, cluster, bucket, host="localhost")
    refused = place.run()
    assert refused.returncode == ExitCode.WRONG_SPEC, refused.stderr[-3000:]
    assert "departures_live keeps state (Aggregate) in its checkpoint" in refused.stderr
    without_state(place)
    finished = place.run(generation=2)
    assert finished.returncode == ExitCode.STOPPED, finished.stdout[-3000:]
    assert_exact(bucket, feed.sent)


def _command_lines() -> Iterator[bytes]:
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield file.read_bytes()
        except OSError:
            continue


def _pages(place: DriverPlace, cluster: RunningCluster) -> list[bytes]:
    """Return what the driver, the master and the workers show."""
    driver = spark_ui_address(place.project().folder.progress, place.unit, 1)
    assert driver is not None
    (application,) = json.loads(_shown(f"{driver}/api/v1/applications"))
    workers = [worker["webuiaddress"] for worker in cluster.page()["workers"]]
    return [
        _shown(f"{driver}/environment/"),
        _shown(f"{driver}/api/v1/applications/{application['id']}/environment"),
        _shown(f"{driver}/executors/"),
        *(_shown(f"{address}{page}") for address in (cluster.cluster.page, *workers) for page in ("/", "/json/")),
        _shown(f"{cluster.cluster.page}/app/?appId={application['id']}"),
    ]


def _shown(address: str) -> bytes:
    with urlopen(address, timeout=20) as answer:  # noqa: S310 - ours, on loopback
        content: bytes = answer.read()
        return content
