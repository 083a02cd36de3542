"""The embedded broker in a folder with an odd name: its data is there, in whatever locale it is started."""

from __future__ import annotations

import random
import subprocess
import unicodedata
from pathlib import Path

import pytest

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.devstack.kafka.properties import property_value
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.producer import KafkaPythonProducer
from sluice.settings import settings
from sluice.topics.administration import TopicCreation
from tests.integration.brokers import free_ports, running
from tests.unit.specs.deployments.test_folder_names import ODD

READER = Path(__file__).with_name("java") / "ReadProperties.java"
HOSTILE = [
    "",
    " ",
    "  a ",
    "\\",
    "a\\",
    "\\u0041",
    "\\:",
    "a=b:c",
    "#a",
    "!a",
    "a\nb",
    "\r\n",
    "\t\f",
    "é",
    "日本",
    "😀",
]


def texts(count: int) -> list[str]:
    """Return texts of characters from all over Unicode, the first ones likelier; no half of a pair."""
    draw = random.Random(23)

    def character() -> str:
        while True:
            found = chr(draw.choice((draw.randrange(0x80), draw.randrange(0x3000), draw.randrange(0x110000))))
            if unicodedata.category(found) != "Cs":
                return found

    return ["".join(character() for _ in range(draw.randrange(12))) for _ in range(count)]


def test_java_reads_back_every_value(tmp_path: Path) -> None:
    values = HOSTILE + texts(2_000)
    file = tmp_path / "a.properties"
    lines = (f"{at}={property_value(value)}\n" for at, value in enumerate(values))
    file.write_text("".join(lines), encoding="ascii")
    done = subprocess.run(["java", str(READER), str(file)], capture_output=True, text=True, timeout=120, check=True)
    units = [list(map(int, line.split())) for line in done.stdout.splitlines()]
    assert [b"".join(unit.to_bytes(2, "big") for unit in read).decode("utf-16-be") for read in units] == values


def test_a_broker_keeps_its_data_and_log_in_an_odd_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LANG", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LC_ALL", "C")
    parent = tmp_path / "parent"
    folder = parent / f"{ODD} %d%i" / "kafka"
    broker = BrokerProcess(folder, *free_ports(), settings().jars)
    broker.prepare()
    with running(broker), KafkaPythonAdministration([broker.bootstrap]) as administration:
        administration.create([TopicCreation("flights", 1, 1)])
        with KafkaPythonProducer([broker.bootstrap], "flights") as producer:
            assert producer.send(b"AA", b"{}").wait().offset == 0
    assert next((folder / "data" / "flights-0").glob("*.log")).stat().st_size > 0
    assert "KafkaRaftServer" in broker.log.read_text()
    assert [list(parent.iterdir()), list(tmp_path.iterdir())] == [[folder.parent], [parent]]
