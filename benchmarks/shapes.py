"""Windows and transformations of every kind, settled by drivers that are killed, against pandas.

Two days of flights (in JSON and as lines of text) and of weather, a twentieth of each sent twice, are drained into raw
tables. Then each shape of `tests.shapes`, over one topic, two, or a settled table, is settled by drivers of its own:
the first is killed before the commit of a settlement, the second right after it, the third goes on. Records that were
on time and are sent only now must mark every interval whose rows they change; what a repair computes then must be
right everywhere. One more shape is delivered by a sink of the project to a database, which must hold each row once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from kafka import KafkaProducer

from benchmarks.project_copy import copied_project
from benchmarks.topics import private_topics
from sluice.delta.reading import read_rows
from sluice.failpoints import marker
from sluice.intervals.ledger import Ledger
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.project.project import Project
from sluice.settings import Settings, settings
from sluice.streams.failures.exits import ExitCode
from sluice.topics.administration import TopicCreation
from tests.integration.spark.conftest import values_of
from tests.oracle import flights
from tests.shapes import carried, chained, joined, lines, sql, transforms
from tests.shapes.carried_specs import CARRIED, ORACLES, carried_document
from tests.shapes.chained_specs import UPSTREAM, chained_document, days_of
from tests.shapes.joined_oracle import joined_rows
from tests.shapes.joined_specs import JOINED, PREFIX, joined_document
from tests.shapes.lines import LINES, lines_document
from tests.shapes.oracle import differences, rows_of
from tests.shapes.own_sink import delivered, write_sink
from tests.shapes.specs import SHAPES, pipeline_document
from tests.shapes.weather import PARTITIONS, TOPIC, heartbeat, values, weather, write_specs

_DAYS = ("2013-01-01", "2013-01-02")
_LATE_AFTER_MINUTES = 180
_KILLS = ("before_write", "after_write_before_commit")
_CHAINED = ("days",)
_OWN_SINK = "delivered"
_OF_SINK = "delayed"
_COLUMNS = {"at": "TEXT", "flight_id": "INTEGER", "carrier": "TEXT", "dep_delay_min": "INTEGER"}
_NOON = (pd.Timestamp("2013-01-01T15:00Z"), pd.Timestamp("2013-01-01T20:00Z"))
_SIZES = {
    "full": (*SHAPES, *JOINED, *CARRIED, *LINES, *_CHAINED, _OWN_SINK),
    "small": ("hopping", "sessions_in_sql", "joined_left", "turns"),
    "others": (UPSTREAM, *LINES, *_CHAINED, _OWN_SINK),
}


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `shapes` (how many), `wrong_rows` after a repair, `silent` intervals before it, and `kills` that fired."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="sluice-shapes-") as place, private_topics(Path(place)) as topics:
        bench = Bench.prepared(Path(place), topics.bootstrap, _SIZES[size])
        sent, kept = bench.send_all_but_some()
        bench.drive_raw(1)
        killed = {shape: bench.settle_with_kills(shape) for shape in _SIZES[size]}
        bench.send(kept)
        bench.drive_raw(2)
        everything = sent + kept
        for shape in _SIZES[size]:
            found[shape] = {"kills": killed[shape], **bench.mark_and_repair(shape, everything)}
            print(shape, found[shape], file=sys.stderr, flush=True)
    figures = {
        "shapes": len(found),
        "kills": sum(each["kills"] for each in found.values()),
        "marked": sum(each["marked"] for each in found.values()),
        "silent": sum(each["silent"] for each in found.values()),
        "wrong_rows": sum(each["wrong_rows"] for each in found.values()),
    }
    return figures, {"size": size, "of_shapes": found}


def _document(shape: str) -> dict[str, object]:
    if shape == _OWN_SINK:
        sink = {"kind": "sink", "name": shape, "function": f"{shape}:write"}
        document = {**pipeline_document(_OF_SINK), "name": shape, "outputs": [sink]}
        return {key: value for key, value in document.items() if key != "output"}
    for shapes, made in ((CARRIED, carried_document), (_CHAINED, chained_document), (LINES, lines_document)):
        if shape in shapes:
            return made(shape)
    return joined_document(shape) if shape.startswith(PREFIX) else pipeline_document(shape)


@dataclass(frozen=True)
class Sent:
    """Records of the topics: those of flights are sent to two."""

    flown: pd.DataFrame
    measured: pd.DataFrame

    def __add__(self, other: Sent) -> Sent:
        """Return both."""
        return Sent(pd.concat([self.flown, other.flown]), pd.concat([self.measured, other.measured]))

    def rows_of(self, shape: str) -> pd.DataFrame:
        """Return what a shape makes of them."""
        if shape.startswith(PREFIX):
            return joined_rows(shape, self.flown, self.measured)
        if shape in _CHAINED:
            return days_of(rows_of(UPSTREAM, self.flown))
        if shape in CARRIED:
            return ORACLES[shape](self.flown[~(self.flown["dep_delay"] > _LATE_AFTER_MINUTES)])
        return rows_of(_OF_SINK if shape == _OWN_SINK else lines.shape_of(shape), self.flown)


@dataclass(frozen=True)
class Bench:
    """A project with a pipeline per shape, each with a driver of its own, and its state folder."""

    home: Path
    state: Path
    bootstrap: str

    @classmethod
    def prepared(cls, place: Path, bootstrap: str, shapes: tuple[str, ...]) -> Bench:
        """Write the project."""
        home = copied_project(place / "project", "include", "spark_jobs")
        for spec in ("pipelines", "expectations", "feeds"):
            for file in (home / "include" / spec).glob("*.yaml"):
                file.unlink()
        folder = home / "spark_jobs" / "transforms"
        for name, module in (("shapes", transforms), ("joined", joined), ("carried", carried), ("chained", chained)):
            (folder / f"{name}.py").write_bytes(Path(str(module.__file__)).read_bytes())
        write_specs(home / "include")
        lines.write_topic(home / "include")
        write_sink(home, _OWN_SINK, place / f"{_OWN_SINK}.db", _COLUMNS)
        for query in Path(sql.__file__).parent.glob("*.sql"):
            (folder / query.name).write_bytes(query.read_bytes())
        for shape in shapes:
            document = {**_document(shape), "driver": shape, "backfill": {"schedule": None}}
            (home / "include" / "pipelines" / f"{shape}.yaml").write_text(json.dumps(document), encoding="utf-8")
        with KafkaPythonAdministration((bootstrap,), {}) as administration:
            for topic, partitions in ((TOPIC, PARTITIONS), (lines.TOPIC, lines.PARTITIONS)):
                administration.create([TopicCreation(topic, partitions, 1, {"retention.ms": "-1"})])
        state = place / "state"
        write_endpoints(Settings(state=state).folder, Endpoints(kafka_bootstrap=(bootstrap,), airflow_url=""))
        return cls(home, state, bootstrap)

    @property
    def _log(self) -> Path:
        return self.state / "drivers.log"

    @property
    def project(self) -> Project:
        """The project in its state folder."""
        return Project.open_strict(Settings(home=self.home, state=self.state))

    def send_all_but_some(self) -> tuple[Sent, Sent]:
        """Send two days, some records twice, and the heartbeats; return what was sent, and what was left out."""
        table, measured = flights(*_DAYS), weather(*_DAYS)
        on_time = ~(table["dep_delay"] > _LATE_AFTER_MINUTES)
        kept = Sent(
            table[on_time & table["scheduled"].between(*_NOON)].iloc[::40],
            measured[~measured["late"] & measured["measured"].between(*_NOON)].iloc[::4],
        )
        first, other = table.drop(kept.flown.index), measured.drop(kept.measured.index)
        sent = Sent(pd.concat([first, first.iloc[::20]]), pd.concat([other, other.iloc[::20]]))
        self.send(sent)
        closes = (table["hour_utc"].max() + pd.Timedelta(hours=36)).strftime("%Y-%m-%dT%H:%M:%SZ")
        beat = {"heartbeat": True, "scheduled_at": closes, "observed_at": closes}
        self._produce("flights", json.dumps(beat).encode())
        self._produce(TOPIC, heartbeat(closes))
        for partition in range(lines.PARTITIONS):
            self._produce(lines.TOPIC, lines.closing(closes), partition)
        return sent, kept

    def send(self, records: Sent) -> None:
        """Send records, in the order in which they became known."""
        producer = KafkaProducer(bootstrap_servers=self.bootstrap)
        for value in values_of(records.flown):
            producer.send("flights", key=str(value["carrier"]).encode(), value=json.dumps(value).encode())
        for partition, measurement in values(records.measured.sort_values("published")):
            producer.send(TOPIC, value=measurement, partition=partition)
        for partition, line in lines.lines(records.flown):
            producer.send(lines.TOPIC, value=line, partition=partition)
        producer.close()

    def _produce(self, topic: str, value: bytes, partition: int | None = None) -> None:
        producer = KafkaProducer(bootstrap_servers=self.bootstrap)
        producer.send(topic, value=value, partition=partition)
        producer.close()

    def drive_raw(self, generation: int) -> None:
        """Let all raw streams read what there is."""
        for unit in ("flights", TOPIC, lines.TOPIC):
            self.drive(unit, generation)

    def drive(self, unit: str, generation: int, failpoint: str = "") -> None:
        """Run a driver until it has read everything, or dies at the failpoint."""
        command = [sys.executable, str(self.home / "spark_jobs" / "stream.py"), "--unit", unit]
        code = self._run([*command, "--generation", str(generation), "--available-now"], failpoint)
        fired = bool(failpoint) and marker(Settings(state=self.state, failpoint=failpoint)).exists()
        if fired != bool(failpoint) or not (fired or code == ExitCode.STOPPED):
            log = self._log.read_text(encoding="utf-8")[-4000:]
            raise RuntimeError(f"the driver of {unit} ended with {code}; {failpoint!r} fired: {fired}. Its log: {log}")

    def settle_with_kills(self, shape: str) -> int:
        """Settle a shape, with drivers that die on the way; return how many did."""
        for generation, kill in enumerate(_KILLS, start=1):
            self.drive(shape, generation, f"{kill}@{shape}")
        self.drive(shape, len(_KILLS) + 1)
        return len(_KILLS)

    def mark_and_repair(self, shape: str, everything: Sent) -> dict[str, int]:
        """Let a shape examine what came late, compare, repair and compare again."""
        self.drive(shape, len(_KILLS) + 2)
        if shape == _OWN_SINK:
            return {
                **dict.fromkeys(("intervals", "marked", "silent"), 0),
                "wrong_rows": self._wrong_in_sink(everything),
            }
        ledger, wanted = self._ledger(shape), everything.rows_of(shape)
        wanted = wanted[wanted["at"] < pd.Timestamp(ledger.closed_until)]
        before = self._wrong_intervals(shape, wanted)
        marked = {pd.Timestamp(start) for start, row in ledger.rows.items() if row.dirty}
        first, last = ledger.spans[0].interval.start, ledger.spans[-1].interval.end
        self._repair(shape, first.isoformat(), last.isoformat())
        wrong = differences(shape, read_rows(self.state / "tables" / shape).to_pandas(), wanted)
        return {
            "intervals": len(ledger.rows),
            "marked": len(marked),
            "wrong_before": len(before),
            "silent": len(before - marked),
            "wrong_rows": len(wrong),
        }

    def _wrong_in_sink(self, everything: Sent) -> int:
        found = delivered(self.home.parent / f"{_OWN_SINK}.db")
        found["at"] = pd.to_datetime(found["at"], utc=True)
        return len(differences(_OWN_SINK, found, everything.rows_of(_OWN_SINK)))

    def _ledger(self, shape: str) -> Ledger:
        return self.project.tables.ledger(shape)

    def _wrong_intervals(self, shape: str, wanted: pd.DataFrame) -> set[pd.Timestamp]:
        found = read_rows(self.state / "tables" / shape).to_pandas()
        starts = [frame["at"].dt.tz_convert("UTC").dt.floor("h") for frame in (found, wanted)]
        every = sorted({*starts[0], *starts[1]})
        return {at for at in every if differences(shape, found[starts[0] == at], wanted[starts[1] == at])}

    def _repair(self, shape: str, first: str, last: str) -> None:
        command = [sys.executable, str(self.home / "spark_jobs" / "batch.py"), "backfill", "--pipeline", shape]
        wanted = ["--from", first, "--to", last, "--mode", "recompute", "--only", "dirty"]
        code = self._run([*command, *wanted, "--by", "bench", "--why", "repair", "--key", f"repair {shape}"], "")
        if code:
            raise RuntimeError(f"the repair of {shape} ended with {code}")

    def _run(self, command: list[str], failpoint: str) -> int:
        places = {"SLUICE_HOME": str(self.home), "SLUICE_STATE": str(self.state), "SLUICE_SPARK_MASTER": ""}
        paths = os.pathsep.join([str(settings().home), str(settings().home / "include")])
        environment = {**os.environ, **places, "PYTHONPATH": paths, "SLUICE_FAILPOINT": failpoint}  # noqa: TID251
        with self._log.open("ab") as log:
            return subprocess.run(command, env=environment, stdout=log, stderr=log, start_new_session=True).returncode  # noqa: PLW1510
