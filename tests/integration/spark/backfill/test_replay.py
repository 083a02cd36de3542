"""From quarantine to the results: a case is opened, the rules are mended, and nothing is lost or twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from deltalake import DeltaTable
from kafka import KafkaProducer
from pyspark.sql import SparkSession

from sluice.clock import SystemClock
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.errors import RefusedError
from sluice.intervals.backfill.request import Mode
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.project.project import Project
from sluice.quality.cases import Case, CaseEvent, CaseState, case_id
from sluice.quality.patching import declaration, patches_for
from sluice.quality.quarantine import QuarantineFilter
from sluice.quality.reasons import Outcome, Reason
from sluice.settings import Settings, settings
from sluice.spark.backfill.replay import ReplayResult, replay
from sluice.spark.checks.census import take_census
from sluice.spark.checks.quarantine import quarantine_of
from sluice.specs.model.patches import Replacement
from sluice.topics.administration import TopicCreation
from tests.editing import edit
from tests.integration.brokers import free_ports, running
from tests.integration.spark.backfill.backfills import Drained
from tests.integration.spark.conftest import DriverPlace, values_of
from tests.oracle import departures, differences, flights

pytestmark = [pytest.mark.verify, pytest.mark.timeout(600)]

DAY = "2013-01-01"
PERSON = "Jane-Canary-7731"
ALL = QuarantineFilter()
MISDATED = Replacement(pattern='("scheduled_at": )"2031-', by='$1"2013-')


@dataclass(frozen=True)
class Refused:
    """A day of flights, some of which the specs of its time refuse; the stream has read it all.

    Attributes:
        place: the state, and the project with those specs.
        records: how many there are.
    """

    place: DriverPlace
    records: int


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Refused:
    folder = tmp_path_factory.mktemp("refused")
    broker = BrokerProcess(folder / "broker", *free_ports(), settings().jars)
    broker.prepare()
    with running(broker):
        records = publish(broker.bootstrap)
        place = DriverPlace(folder / "state").with_own_project()
        edit(place.home / "include/topics/flights.yaml", "[EWR, JFK, LGA]", "[EWR, JFK]")
        endpoints = Endpoints(kafka_bootstrap=(broker.bootstrap,), airflow_url="")
        write_endpoints(Settings(state=place.state).folder, endpoints)
        finished = place.run()
        assert finished.returncode == 0, finished.stdout[-2000:]
        (place.state / "driver.log").write_text(finished.stdout + finished.stderr)
    return Refused(place, records)


def publish(bootstrap: str) -> int:
    """Send a day of flights; United's flight numbers are fractions, which no `long` is, and one is dated wrongly."""
    with KafkaPythonAdministration((bootstrap,), {}) as administration:
        administration.create([TopicCreation("flights", 2, 1, {"retention.ms": "-1"})])
    table = flights(DAY, DAY)
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    values = list(values_of(table))
    misdated = next(value for value in values if (value["carrier"], value["origin"]) == ("B6", "JFK"))
    misdated["scheduled_at"] = str(misdated["scheduled_at"]).replace("2013-", "2031-")
    for value in values:
        own = {"flight": 1.5, "tailnum": PERSON} if value["carrier"] == "UA" else {}
        producer.send("flights", key=str(value["carrier"]).encode(), value=json.dumps(value | own).encode())
    closes_all = (table["hour_utc"].max() + pd.Timedelta(hours=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    heartbeat = {"heartbeat": True, "scheduled_at": closes_all, "observed_at": closes_all}
    producer.flush()
    producer.send("flights", value=json.dumps(heartbeat).encode(), partition=0)
    producer.close()
    return len(table) + 1


@pytest.fixture
def before(refused: Refused, tmp_path: Path, spark: SparkSession) -> Drained:
    """A private copy of the state, under the specs of its time."""
    found = Drained.copy(refused.place.state, tmp_path / "state", spark)
    return Drained(found.state, spark, Project.open_strict(Settings(home=refused.place.home, state=found.state)))


def mended(before: Drained, home: Path) -> Drained:
    """Return the same state under specs that take what those before refused: other rules, and a patch."""
    patches = patches_for(on_paper(before, QuarantineFilter(reasons=(Reason.FUTURE,))), (MISDATED,))
    topic = Settings().home / "include" / "topics" / "flights.yaml"
    place = DriverPlace(home.parent / "any").with_own_project()
    text = topic.read_text().replace("flight: {type: long,", "flight: {type: double,")
    text = text.replace("  event_id:", f"{declaration(patches)}\n  event_id:")
    (place.home / "include" / "topics" / "flights.yaml").write_text(text)
    return Drained(before.state, before.spark, Project.open_strict(Settings(home=place.home, state=before.state)))


def opened(drained: Drained, asked: QuarantineFilter = ALL) -> Case:
    return drained.project.records.cases().open(on_paper(drained, asked))


def on_paper(drained: Drained, asked: QuarantineFilter) -> Case:
    places, reasons, _ = quarantine_of(drained.project, drained.spark, drained.code, "flights").positions(asked)
    event = CaseEvent(CaseState.OPEN, "ann", "who sends these?", SystemClock().now())
    name = case_id("departures", event.at, places)
    counts = {str(reason): count for reason, count in reasons.items()}
    return Case(name, "departures", str(asked), places, counts, (event,))


def run(drained: Drained, case: Case) -> ReplayResult:
    return replay(drained.project, drained.spark, case.id, by="bob")


def outcomes(drained: Drained) -> dict[Outcome, int]:
    project = drained.project
    topic, pipeline = project.catalog.topics["flights"], project.catalog.pipelines["departures"]
    census = take_census(drained.spark, project.folder.table(topic.raw.table), topic, pipeline)
    assert sum(census.outcomes.values()) == census.records
    return dict(census.outcomes)


def of_lga(table: pd.DataFrame) -> int:
    return int(((table["origin"] == "LGA") & (table["carrier"] != "UA")).sum())


def test_what_is_refused_is_found_by_reason_and_shown(before: Drained) -> None:
    table = flights(DAY, DAY)
    quarantine = quarantine_of(before.project, before.spark, before.code, "flights")
    found = quarantine.browse(QuarantineFilter(), limit=3)
    united = int((table["carrier"] == "UA").sum())
    assert found.reasons == {Reason.WRONG_TYPE: united, Reason.NOT_ALLOWED: of_lga(table), Reason.FUTURE: 1}
    assert len(found.records) == 3
    assert found.records == tuple(sorted(found.records, key=lambda one: (one.at, *one.position[1:]), reverse=True))
    only = quarantine.browse(QuarantineFilter(reasons=(Reason.NOT_ALLOWED,)), limit=1)
    (one,) = only.records
    assert only.total == of_lga(table)
    _, partition, offset = one.position
    assert quarantine.one(partition, offset) == one
    assert json.loads(one.value or b"")["origin"] == "LGA"
    assert quarantine.browse(QuarantineFilter(partition=partition, first=offset, last=offset), limit=9).records == (
        one,
    )
    assert quarantine.browse(QuarantineFilter(until=found.records[-1].at - pd.Timedelta(days=1)), limit=9).total == 0


@pytest.mark.verify
def test_a_patch_is_tried_before_it_is_declared(before: Drained) -> None:
    quarantine = quarantine_of(before.project, before.spark, before.code, "flights")
    fractions = on_paper(before, QuarantineFilter(reasons=(Reason.WRONG_TYPE,)))
    ours = flights(DAY, DAY)
    united = ours[ours["carrier"] == "UA"]
    late, at_lga = int((united["dep_delay"] > 180).sum()), int((united["origin"] == "LGA").sum())
    whole = Replacement(pattern=r'("flight": )(\d+)\.\d+', by="$1$2")
    found = quarantine.with_patches(patches_for(fractions, (whole,))).revalidate(fractions.positions)
    assert (found.missing, dict(found.reasons)) == (0, {Reason.NOT_ALLOWED: at_lga})
    assert found.better == len(united) - at_lga
    assert found.outcomes.get(Outcome.LATE, 0) <= late
    # One that fits nothing, one of other records, and one of another topic change nothing.
    nowhere = Replacement(pattern="no such text", by="")
    other = [patch.model_copy(update={"topic_id": "another"}) for patch in patches_for(fractions, (whole,))]
    elsewhere = patches_for(on_paper(before, QuarantineFilter(reasons=(Reason.FUTURE,))), (whole,))
    for patches in (patches_for(fractions, (nowhere,)), other, elsewhere):
        assert dict(quarantine.with_patches(patches).revalidate(fractions.positions).reasons) == {
            Reason.WRONG_TYPE: len(united)
        }


@pytest.mark.verify
def test_a_case_ends_with_its_records_in_the_results_and_nothing_twice(
    before: Drained, refused: Refused, tmp_path: Path
) -> None:
    counted = outcomes(before)
    assert sum(counted.values()) == refused.records
    case = opened(before)
    assert case.records == counted[Outcome.QUARANTINED]
    with pytest.raises(RefusedError, match=f"are in the case {case.id}, which is open"):
        opened(before, QuarantineFilter(reasons=(Reason.NOT_ALLOWED,)))

    version = before.versions()
    nothing = run(before, case)  # the rules are what they were
    assert not nothing.passed
    assert f"{case.records} of its {case.records} records are still quarantined" in nothing.why.replace(",", "")
    assert (before.versions(), before.project.records.cases().get(case.id)) == (version, case)

    after = mended(before, tmp_path / "project")
    replayed = run(after, case)
    assert replayed.passed, replayed.why
    assert replayed.case.events[-1].by == "bob"
    assert sum((replayed.case.events[-1].counts or {}).values()) == case.records
    assert differences(after.rows(), departures(DAY, DAY)) == []
    now = outcomes(after)
    late = int((flights(DAY, DAY)["dep_delay"] > 180).sum())
    assert now == {
        Outcome.GOOD: refused.records - late - 1,
        Outcome.QUARANTINED: 0,
        Outcome.LATE: late,
        Outcome.CONTROL: 1,
    }

    version = after.versions()
    again = run(after, case)
    assert (again.passed, again.revalidation, after.versions()) == (True, None, version)

    # Whoever computes these intervals later takes the same records.
    assert after.run(Mode.RECOMPUTE).passed
    assert differences(after.rows(), departures(DAY, DAY)) == []
    whole = after.run(Mode.VERIFY)
    assert whole.outcome == "identical", whole.why
    assert after.run(Mode.CORRECT).passed
    assert differences(after.rows(), departures(DAY, DAY, with_late=True)) == []
    assert_nobody_is_named(after.state)


def assert_nobody_is_named(state: Path) -> None:
    """Look for a value of the data in everything that is no table: logs, reports, the control database."""
    tables = {state / "tables", state / "staging"}
    files = [path for path in state.rglob("*") if path.is_file() and not tables & {*path.parents}]
    assert any(path.suffix in (".db", ".sqlite") or "control" in path.name for path in files)
    assert [path for path in files if PERSON.encode() in path.read_bytes()] == []


@pytest.mark.verify
@pytest.mark.parametrize(
    "failpoint",
    ["after_stage:1", "mid_publish:1", "after_publish_before_index:1", "between_backfills:1", "before_case_closes:1"],
)
def test_a_replay_that_is_killed_anywhere_ends_as_if_it_had_not_been(
    before: Drained, refused: Refused, tmp_path: Path, failpoint: str
) -> None:
    case = opened(before)
    after = mended(before, tmp_path / "project")
    name, _, nth = failpoint.partition(":")
    table = "departures"
    command = [sys.executable, str(after.project.settings.home / "spark_jobs" / "batch.py"), "replay"]
    command += ["--pipeline=departures", f"--case={case.id}", "--by=bob"]
    job = after.project.processes.batch("departures", command[2:])
    point = f"{name}@{table}:{nth}"
    killed = subprocess.run(
        job.argv,
        env={**os.environ, **job.environment, "SLUICE_FAILPOINT": point},
        cwd=job.folder,
        start_new_session=True,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert killed.returncode < 0, killed.stderr[-2000:]
    assert DriverPlace(after.state).fired(point)
    replayed = run(after, case)
    assert replayed.passed
    counted = outcomes(after)
    assert (sum(counted.values()), counted[Outcome.QUARANTINED]) == (refused.records, 0)
    assert differences(after.rows(), departures(DAY, DAY)) == []
    publications = DeltaTable(str(after.table)).history()
    assert len(publications) == after.versions() + 1
    assert after.run(Mode.RECOMPUTE).passed
    assert after.run(Mode.VERIFY).outcome == "identical"
