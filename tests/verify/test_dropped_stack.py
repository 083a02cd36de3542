"""A whole stack is lost with its machine: on a new one `sluice up` is enough, and nobody starts the stream."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sluice.clock import SystemClock
from sluice.delta.reading import read_rows
from sluice.delta.versions import next_version
from sluice.devstack.stack import down, up
from sluice.launch.processes import STACK_MARK, kill, marked, wait_until
from sluice.storage.bucket_folder import BucketFolder
from sluice.streams.desired_copy import LEFT_ALONE
from tests.buckets import BucketServer
from tests.integration.brokers import own_broker_in
from tests.oracle import departures, differences
from tests.own_stack import SOON, OwnStack

pytestmark = [pytest.mark.verify, pytest.mark.timeout(1800)]


class LosableStack(OwnStack):
    """A stack whose tables are in a bucket, and whose Kafka is another machine's."""

    def __init__(self, folder: Path, bootstrap: str, bucket: BucketFolder) -> None:
        super().__init__(folder / "project", folder / "state")
        kafka = {"kind": "external", "bootstrap": [bootstrap]}
        deployment = {"name": "local", "kafka": kafka, "replication": 1, "storage": str(bucket)}
        include = self.settings.home / "include"
        (include / "deployments" / "local.yaml").write_text(json.dumps(deployment))
        shutil.rmtree(include / "access")  # that broker asks nobody who comes

    def lose(self) -> None:
        """End every process as a power cut does, and remove all that the machine had."""
        state = str(self.settings.state)

        def gone() -> bool:
            kill(marked(STACK_MARK, state))
            return not marked(STACK_MARK, state)

        launcher = self.project.processes.launcher()
        assert wait_until(gone, SystemClock(), deadline_seconds=30)
        for report in launcher.living():
            launcher.kill(report.key)
        shutil.rmtree(self.settings.state)
        shutil.rmtree(self.settings.home)


@pytest.fixture
def ending() -> Iterator[ExitStack]:
    with ExitStack() as ending:
        yield ending


def test_everything_but_bucket_and_kafka_is_lost_and_up_is_enough(
    tmp_path: Path, store: BucketServer, ending: ExitStack
) -> None:
    broker = ending.enter_context(own_broker_in(tmp_path / "kafka"))
    bucket = store.new_bucket() / "of sluice"
    lost = LosableStack(tmp_path / "lost", broker.bootstrap, bucket)
    ending.callback(down, lost.settings)
    lost.up()
    lost.send(900)
    lost.start_stream("the only start that anybody asks for")
    raw = bucket / "tables" / "flights_raw"
    lost.eventually(lambda: next_version(raw) > 0 and len(read_rows(raw)) == lost.sent, "half is read")
    lost.lose()

    new = LosableStack(tmp_path / "new", broker.bootstrap, bucket)
    ending.callback(down, new.settings)
    up(new.settings)
    lost.settings = new.settings  # the flights that are left go to the same topic
    lost.send()
    new.eventually(
        lambda: (attempt := new.attempt) is not None and attempt.generation == 2,
        "the stream is started",
        LEFT_ALONE.total_seconds() + SOON,
    )
    wanted = departures("2013-01-01", "2013-01-02")
    table = bucket / "tables" / "departures"
    new.eventually(lambda: differences(read_rows(table).to_pandas(), wanted) == [], "all is published")
    rows = read_rows(raw).to_pandas()
    assert len(rows) == lost.sent
    assert not rows.duplicated(["topic_id", "partition", "offset"]).any()
