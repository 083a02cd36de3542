"""A live source followed into a real broker by the command, which is killed on the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from sluice import __version__
from sluice.cli.scaffold.project import project_files, write_project
from sluice.clock import SystemClock
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.reader import KafkaPythonReader
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.launch.processes import wait_until
from sluice.settings import Settings
from sluice.topics.administration import TopicCreation
from tests.twins.feeds.live_servers import Script, websocket_server

SLUICE = [sys.executable, "-c", "from sluice.cli.main import main; main()"]
FIRST = 1_767_571_200_000_000  # microseconds since 1970
EVENTS = [
    json.dumps({"id": f"e{n}", "at": f"2026-01-05T00:{n // 60:02}:{n % 60:02}Z", "time_us": FIRST + n * 10**6})
    for n in range(400)
]
TOPIC = """\
name: {topic}
partitions: 2
configs: {{message.timestamp.type: LogAppendTime}}
value:
  fields: {{id: {{type: string}}, at: {{type: timestamp}}}}
  event_time: at
  arrival_time: broker
raw: {{table: {topic}_raw, driver: live}}
"""
FEED = """\
name: live
topic: {topic}
source: websocket
websocket:
  url: ws://127.0.0.1:{port}/events
  cursor: {{path: $.time_us, parameter: cursor, epoch: microseconds, overlap: 20 s}}
  identity: $.id
  key: $.id
  rate: 60
"""


def write_specs(home: Path, topic: str, port: int) -> None:
    write_project(home, project_files("live", __version__))
    for file, text in ((f"topics/{topic}.yaml", TOPIC), ("feeds/live.yaml", FEED)):
        (home / "include" / file).parent.mkdir(parents=True, exist_ok=True)
        (home / "include" / file).write_text(text.format(topic=topic, port=port))


@pytest.mark.verify
@pytest.mark.timeout(300)
def test_a_follower_that_is_killed_goes_on_and_the_topic_has_every_event_once(
    broker: BrokerProcess, topic_name: str, tmp_path: Path
) -> None:
    place = Settings(home=tmp_path / "project", state=tmp_path / "state")
    write_endpoints(place.folder, Endpoints(kafka_bootstrap=(broker.bootstrap,), airflow_url=""))
    script = Script(EVENTS, cuts=[150])
    with (
        websocket_server(script) as port,
        KafkaPythonAdministration([broker.bootstrap]) as administration,
    ):
        administration.create([TopicCreation(topic_name, 2, 1, {"message.timestamp.type": "LogAppendTime"})])
        write_specs(place.home, topic_name, port)
        environment = {**os.environ, "SLUICE_HOME": str(place.home), "SLUICE_STATE": str(place.state)}
        reader = KafkaPythonReader(administration, topic_name)

        def sent() -> int:
            return sum(reader.extent().ends.values())

        log = tmp_path / "follow.log"
        for least in (100, 200):
            with log.open("wb") as output:
                running = subprocess.Popen(
                    [*SLUICE, "feed", "follow", "live"], env=environment, stdout=output, stderr=output
                )
            try:
                assert wait_until(lambda: sent() >= least, SystemClock(), deadline_seconds=90), log.read_text()[-3000:]  # noqa: B023
                assert running.poll() is None, "it is killed while it follows"
            finally:
                running.kill()
                running.wait()
            assert sent() < len(EVENTS)
        last = subprocess.run(
            [*SLUICE, "feed", "follow", "live", "--until-idle", "5 s"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert last.returncode == 0, last.stderr
        extent = reader.extent()
        values = Counter(record.value for record in reader.read(extent.beginnings, extent.ends))
    assert values == Counter(event.encode() for event in EVENTS)
    shown = subprocess.run(
        [*SLUICE, "feed", "manifest", "live", "-o", "json"], env=environment, capture_output=True, text=True, check=True
    )
    manifest = json.loads(shown.stdout)
    assert manifest["records"] == len(EVENTS)
    assert manifest["repeated"] > 0, "the source was asked again for what the topic has"
    assert manifest["gaps"] == []
