"""Live sources followed into a real broker by the command, which is killed on the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from tests.twins.feeds.live_servers import Script, line_server, sse_server, websocket_server

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
source: {kind}
{kind}:
  rate: 60
"""
WEBSOCKET = """\
  url: ws://127.0.0.1:{port}/events
  cursor: {{path: $.time_us, parameter: cursor, epoch: microseconds, overlap: 20 s}}
  identity: $.id
  key: $.id
"""
SSE = """\
  url: http://127.0.0.1:{port}/events
  cursor: {{header: Last-Event-ID}}
  identity: $.id
  key: $.id
"""
FOLDER = """\
  path: arriving
  format: lines
  complete_after: 0 s
"""
SOCKET = """\
  address: 127.0.0.1:{port}
"""

pytestmark = [pytest.mark.verify, pytest.mark.timeout(300)]


@dataclass
class Followed:
    """A feed of a project, which follows a source into a topic.

    Attributes:
        place: the project and its state.
        reader: of the topic.
        log: where its processes write.
    """

    place: Settings
    reader: KafkaPythonReader
    log: Path

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "SLUICE_HOME": str(self.place.home), "SLUICE_STATE": str(self.place.state)}

    def sent(self) -> int:
        return sum(self.reader.extent().ends.values())

    def killed_at(self, least: int) -> None:
        """Follow until the topic has so many records, and be killed."""
        with self.log.open("wb") as output:
            running = subprocess.Popen(
                [*SLUICE, "feed", "follow", "live"], env=self.environment, stdout=output, stderr=output
            )
        try:
            followed = wait_until(lambda: self.sent() >= least, SystemClock(), deadline_seconds=90)
            assert followed, self.log.read_text()[-3000:]
            assert running.poll() is None, "it is killed while it follows"
        finally:
            running.kill()
            running.wait()

    def to_the_end(self) -> None:
        last = subprocess.run(
            [*SLUICE, "feed", "follow", "live", "--until-idle", "5 s"],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert last.returncode == 0, last.stderr

    def values(self) -> Counter[bytes | None]:
        extent = self.reader.extent()
        return Counter(record.value for record in self.reader.read(extent.beginnings, extent.ends))

    def manifest(self) -> dict[str, Any]:
        command = [*SLUICE, "feed", "manifest", "live", "-o", "json"]
        shown = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True)
        manifest: dict[str, Any] = json.loads(shown.stdout)
        return manifest


Follow = Callable[..., Followed]


@pytest.fixture
def follow(broker: BrokerProcess, topic_name: str, tmp_path: Path) -> Iterator[Follow]:
    """Return what writes a project with a feed of a kind of source."""
    place = Settings(home=tmp_path / "project", state=tmp_path / "state")
    write_endpoints(place.folder, Endpoints(kafka_bootstrap=(broker.bootstrap,), airflow_url=""))
    write_project(place.home, project_files("live", __version__))
    with KafkaPythonAdministration([broker.bootstrap]) as administration:
        administration.create([TopicCreation(topic_name, 2, 1, {"message.timestamp.type": "LogAppendTime"})])

        def of(kind: str, source: str, port: int = 0) -> Followed:
            feed = FEED.format(topic=topic_name, kind=kind) + source.format(port=port)
            for file, text in (
                (f"topics/{topic_name}.yaml", TOPIC.format(topic=topic_name)),
                ("feeds/live.yaml", feed),
            ):
                (place.home / "include" / file).parent.mkdir(parents=True, exist_ok=True)
                (place.home / "include" / file).write_text(text)
            return Followed(place, KafkaPythonReader(administration, topic_name), tmp_path / "follow.log")

        yield of


@contextmanager
def replaying(kind: str) -> Iterator[tuple[str, int]]:
    """Serve all events, with a connection that breaks; give the feed's spec and the port."""
    script = Script(EVENTS, cuts=[150])
    if kind == "websocket":
        with websocket_server(script) as port:
            yield WEBSOCKET, port
    else:
        with sse_server(script) as port:
            yield SSE, port


@pytest.mark.parametrize("kind", ["websocket", "sse"])
def test_a_follower_that_is_killed_goes_on_and_the_topic_has_every_event_once(kind: str, follow: Follow) -> None:
    with replaying(kind) as (source, port):
        followed = follow(kind, source, port)
        for least in (100, 200):
            followed.killed_at(least)
            assert followed.sent() < len(EVENTS)
        followed.to_the_end()
    assert followed.values() == Counter(event.encode() for event in EVENTS)
    manifest = followed.manifest()
    assert manifest["records"] == len(EVENTS)
    assert manifest["repeated"] > 0, "the source was asked again for what the topic has"
    assert manifest["gaps"] == []


def test_files_of_a_folder_are_read_on_where_a_kill_left_them(follow: Follow) -> None:
    followed = follow("folder", FOLDER)
    folder = followed.place.home / "arriving"
    folder.mkdir()
    for number in range(2):
        (folder / f"part-{number}").write_text("\n".join(EVENTS[number * 100 : (number + 1) * 100]) + "\n")
    followed.killed_at(60)
    for number in range(2, 4):
        (folder / f"part-{number}").write_text("\n".join(EVENTS[number * 100 : (number + 1) * 100]) + "\n")
    followed.killed_at(230)
    followed.to_the_end()
    assert followed.values() == Counter(event.encode() for event in EVENTS)
    manifest = followed.manifest()
    assert (manifest["records"], manifest["gaps"]) == (len(EVENTS), [])


def test_lines_that_nobody_can_send_again_are_a_gap_on_record(follow: Follow) -> None:
    first, second = (b"".join(event.encode() + b"\n" for event in part) for part in (EVENTS[:200], EVENTS[200:]))
    with line_server([[first], [second]]) as port:
        followed = follow("socket", SOCKET, port)
        followed.killed_at(60)
        before = followed.sent()
        followed.to_the_end()
    values = followed.values()
    assert max(values.values()) == 1
    assert set(values) >= {event.encode() for event in EVENTS[200:]}
    assert before < 200, "it was killed within the first connection"
    manifest = followed.manifest()
    assert manifest["records"] == len(values)
    assert len(manifest["gaps"]) == 1
