"""The programs that the benchmark `peers` compares: how each is run, and where its results are."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from kafka import KafkaConsumer, TopicPartition

from benchmarks.backfill.recompute import surroundings
from benchmarks.draining import ads
from benchmarks.draining.drivers import TRIAL_SECONDS, drain, this_code
from benchmarks.peers.figures import newest
from benchmarks.peers.installs import install_flink, install_kstreams
from benchmarks.trials import Cost, run_counted
from sluice.delta.reading import read_rows
from sluice.devstack.kafka.java import java_command
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.settings import StateFolder, environment, settings

RESULTS = "ads_counted"
"""The topic that all programs write to which write to one."""
_HEAP = ("-Xmx700m", "-XX:+UseSerialGC")
FLINK_VARIABLES = {"PYTHONPATH": "", "JVM_ARGS": " ".join(_HEAP)}
"""What a process with Flink has in its environment."""
_LEAN_OUTPUT = {"kind": "topic", "topic": RESULTS, "keys": ["campaign", "began_at"], "create": {"partitions": 4}}


@dataclass(frozen=True)
class Place:
    """Where a trial runs.

    Attributes:
        bootstrap: the broker with the events.
        project: of ours.
        state: an empty folder.
    """

    bootstrap: str
    project: Path
    state: StateFolder

    @property
    def campaigns(self) -> Path:
        """The static table."""
        return self.project / "include" / "campaigns.csv"


@dataclass(frozen=True)
class Program:
    """One of those that are compared.

    Attributes:
        run: drains the topic to its end.
        table: the Delta table of its results; empty: they are in the topic.
        install: what it needs; costs little when that is there.
    """

    run: Callable[[Place], Cost]
    table: str = ""
    install: Callable[[], object] = lambda: None


def write_projects(folder: Path) -> None:
    """Write a project with two units: `ads` has the raw table and the settled one, `lean` only a live topic."""
    ads.write_project(folder)
    pipelines = folder / "include" / "pipelines"
    lean = json.loads((pipelines / "ads.yaml").read_text(encoding="utf-8"))
    lean = {**lean, "name": "lean", "driver": "lean", "outputs": [_LEAN_OUTPUT]}
    del lean["output"]
    (pipelines / "lean.yaml").write_text(json.dumps(lean), encoding="utf-8")


def _ours(unit: str) -> Callable[[Place], Cost]:
    def run(place: Place) -> Cost:
        write_endpoints(place.state, Endpoints((place.bootstrap,), airflow_url=""))
        return drain(place.project, unit, place.state, 1, this_code())

    return run


def _pyspark(*options: str) -> Callable[[Place], Cost]:
    def run(place: Place) -> Cost:
        module = [sys.executable, "-m", "benchmarks.draining.ads_by_hand"]
        command = [*module, place.bootstrap, str(place.state.root), str(place.campaigns), *options]
        return run_counted(
            command, surroundings(place.state.root, place.project, settings().home), timeout=TRIAL_SECONDS
        )

    return run


def flink_command(job: str, where: Sequence[str]) -> list[str]:
    """Return the command that runs a job of `with_flink.py`, given its arguments before the jars."""
    flink = install_flink()
    return [str(flink.python), str(Path(__file__).with_name("with_flink.py")), job, *where, *map(str, flink.jars)]


def kstreams_command(main: str, where: Sequence[str]) -> list[str]:
    """Return the command that runs a class on Kafka Streams, given its arguments."""
    java = java_command(environment().get("JAVA_HOME", ""))
    return [java, *_HEAP, "-cp", install_kstreams(), main, *where]


def _flink(place: Place) -> Cost:
    return run_counted(flink_command("views", _where(place)), FLINK_VARIABLES, timeout=TRIAL_SECONDS)


def _kstreams(place: Place) -> Cost:
    return run_counted(kstreams_command("peers.Views", _where(place)), {}, timeout=TRIAL_SECONDS)


def _where(place: Place) -> Sequence[str]:
    return place.bootstrap, ads.TOPIC, RESULTS, str(place.state.root), str(place.campaigns)


PROGRAMS = {
    "full": Program(_ours("ads"), "ads"),
    "lean": Program(_ours("lean")),
    "pyspark_tuned": Program(_pyspark(), "ads"),
    "pyspark": Program(_pyspark("default"), "ads"),
    "flink": Program(_flink, install=install_flink),
    "kstreams": Program(_kstreams, install=install_kstreams),
}


class ResultTopic:
    """The results that come into the topic from now on."""

    def __init__(self, bootstrap: str) -> None:
        self._consumer: Any = KafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)
        parts = self._consumer.partitions_for_topic(RESULTS)
        self._partitions = [TopicPartition(RESULTS, number) for number in sorted(parts)]
        self._began = self._consumer.end_offsets(self._partitions)

    def rows(self) -> pd.DataFrame:
        """Read them, and close."""
        ends, rows = self._consumer.end_offsets(self._partitions), list[dict[str, Any]]()
        self._consumer.assign(self._partitions)
        for partition in self._partitions:
            self._consumer.seek(partition, self._began[partition])
        while any(self._consumer.position(partition) < ends[partition] for partition in self._partitions):
            for records in self._consumer.poll(1_000).values():
                rows += [json.loads(record.value) for record in records]
        self._consumer.close()
        return newest(rows)


def results(program: Program, place: Place, topic: ResultTopic) -> pd.DataFrame:
    """Return what a program has made."""
    if not program.table:
        return topic.rows()
    rows: pd.DataFrame = read_rows(place.state.table(program.table)).to_pandas()
    return rows
