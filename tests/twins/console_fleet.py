"""A project of many streams with a past, for the console: specs, control database, batches, alerts; nothing runs.

Whatever a person or a foreign system may have said is hostile: it would run a script if a page took it for markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import insert

from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import Delivery, DeliveryOutcome
from sluice.alerts.journal import Journal
from sluice.capacity.costs import CostReading, Work
from sluice.clock import Clock
from sluice.control.database import transaction
from sluice.control.interval_rows import columns_of
from sluice.control.tables import attempt, desired_state, interval, ledger, verdict
from sluice.intervals.alignment import Interval
from sluice.intervals.entries import Content
from sluice.intervals.ledger import LedgerRow, Verified, Written
from sluice.intervals.record_positions import RecordPositions
from sluice.objectives.log import Minute
from sluice.project.capacity.costs import record_driver_costs
from sluice.project.project import Project
from sluice.quality.cases import Case, CaseEvent, CaseState
from sluice.settings import Settings
from sluice.settling.status import SettlingStatus
from sluice.streams.health.batch_log import append_batch
from sluice.streams.health.health import Health
from sluice.streams.health.snapshots import Rates, StreamSnapshot
from sluice.streams.health.verdict import PartitionLag, Verdict
from tests.unit.proof.report_files import add_proofs

HOSTILE = "<script>document.title='taken'</script>\"'><img src=x onerror=\"document.title='taken'\">"
MONTH = datetime(2013, 1, 1, tzinfo=UTC)
CLOSED_UNTIL = MONTH + timedelta(days=20)
HALTED, STALLED, LAGGING, UNSEEN, RESTING, SETTLED = 0, 1, 2, 3, 4, 5
"""Numbers of units that are not as they should be, and of one whose table is settled; all others are well."""
PROVEN = 8
"""So many of the first pipelines were proven."""

_TOPIC = """
name: {topic}
description: One of many.
owner: somebody
partitions: 3
retention: forever
value:
  format: json
  event_time: at
  arrival_time: at
  fields:
    at: {{type: timestamp, required: true}}
raw: {{table: {topic}_raw, driver: {unit}}}
"""
_PIPELINE = """
name: {pipeline}
description: One of many.
owner: somebody
source: {topic}
transform: same:same
time: {{allowed_lateness: 3 hours, future_skew: 60 minutes}}
outputs:
  - {{kind: intervals, table: {pipeline}, time_column: hour, window: 1 hour, interval: hour, keys: [hour]}}
driver: {unit}
trigger: 2 seconds
deadlines: {{lag: 10 min}}
objective: 99.9 %
"""
_TRANSFORM = '''"""Gives what it is given."""

from pyspark.sql import DataFrame


def same(rows: DataFrame) -> DataFrame:
    """Return the rows."""
    return rows
'''
_DEPLOYMENT = """
name: local
description: A broker that is not there.
kafka: {kind: external, bootstrap: ["127.0.0.1:9"]}
replication: 1
"""


@dataclass(frozen=True)
class ConsoleFleet:
    """Where the project is, and of how many units; each has a raw stream and a pipeline's.

    Attributes:
        settings: of the project.
        units: how many.
        aside: what is in everything that somebody may have said.
    """

    settings: Settings
    units: int
    aside: str = HOSTILE

    def says(self, text: str) -> str:
        return f"{text} {self.aside}".strip()

    @property
    def pipelines(self) -> Sequence[str]:
        return [pipeline_of(number) for number in range(self.units)]


def unit_of(number: int) -> str:
    return f"unit{number:04}"


def pipeline_of(number: int) -> str:
    return f"pipe{number:04}"


def topic_of(number: int) -> str:
    return f"topic{number:04}"


def build_fleet(folder: Path, units: int, clock: Clock, *, intervals: int = 48, aside: str = HOSTILE) -> ConsoleFleet:
    """Write it all.

    Args:
        folder: holds the project and its state.
        units: how many.
        clock: gives the present, at which everything was observed.
        intervals: of each pipeline that are on record; the first one's month is full.
        aside: what is in everything that somebody may have said.
    """
    home = folder / "project"
    for below, kind, text in (
        ("topics", topic_of, _TOPIC),
        ("pipelines", pipeline_of, _PIPELINE),
    ):
        (home / "include" / below).mkdir(parents=True)
        for number in range(units):
            names = {"topic": topic_of(number), "pipeline": pipeline_of(number), "unit": unit_of(number)}
            (home / "include" / below / f"{kind(number)}.yaml").write_text(text.format(**names))
    (home / "include" / "deployments").mkdir()
    (home / "include" / "deployments" / "local.yaml").write_text(_DEPLOYMENT)
    (home / "spark_jobs" / "transforms").mkdir(parents=True)
    (home / "spark_jobs" / "transforms" / "__init__.py").write_text('"""Transforms."""\n')
    (home / "spark_jobs" / "transforms" / "same.py").write_text(_TRANSFORM)
    fleet = ConsoleFleet(Settings(home=home, state=folder / "state"), units, aside)
    project = Project.open_strict(fleet.settings)
    _lives(project, fleet, clock.now())
    _batches(project, fleet, clock.now())
    _intervals(project, fleet, intervals)
    _cases(project, fleet, clock.now())
    _alerts(project, fleet, clock)
    _objectives(project, fleet, clock.now())
    record_driver_costs(project, clock.now())
    project.records.costs().observe([CostReading("b", Work.BACKFILL, pipeline_of(5), 7.5)], clock.now())
    add_proofs(project.folder.proofs, fleet.pipelines[:PROVEN], fleet.says, clock.now())
    return fleet


_WHY = {
    Health.OK: "What is unread is young, and batches are committed.",
    Health.LAGGING: "More arrives than it reads.",
    Health.STALLED: "Records wait, its driver lives, and nothing is committed.",
}


def health_of(number: int) -> Health:
    return {STALLED: Health.STALLED, LAGGING: Health.LAGGING}.get(number, Health.OK)


def _lives(project: Project, fleet: ConsoleFleet, now: datetime) -> None:
    day, registry = timedelta(days=1), project.records.registry()
    wishes, attempts, verdicts, newest = [], [], [], []
    for number in range(fleet.units):
        unit = unit_of(number)
        base = {"deployment": "local", "unit": unit}
        said = {"requested_by": fleet.says("ada"), "why": fleet.says("launch"), "at": now - 2 * day}
        wishes.append({**base, "state": "stopped" if number == RESTING else "running", **said})
        for generation in (1, 2):
            ended = generation == 1 or number in (HALTED, RESTING)
            attempts.append(
                {
                    **base,
                    "generation": generation,
                    "key": f"local.{unit}.g{generation}",
                    "state": "ended" if ended else "bound",
                    "intended_at": now - 6 * timedelta(hours=3 - generation),
                    "bound_at": now - 6 * timedelta(hours=3 - generation),
                    "ended_at": now - timedelta(hours=5 - generation) if ended else None,
                    "exit_code": 1 if ended else None,
                    "reason": fleet.says("ended with exit code 1") if ended else "",
                    "failure": "corrupt" if number == HALTED else "stopped" if ended else None,
                }
            )
        for stream in (f"raw_{topic_of(number)}", pipeline_of(number)):
            found = _verdict(number, now, fleet)
            if stream == pipeline_of(SETTLED):
                found = replace(found, settling=settling_at(now, fleet))
            given = {
                "health": found.health.value,
                "why": found.why,
                "what_to_do": "",
                "batches": 3,
                "completeness": 1.0,
            }
            verdicts.append(
                {**base, "stream": stream, "number": 1, "generation": 2, "at": now - timedelta(hours=3), **given}
            )
            seen_at = now - timedelta(hours=1) if number == UNSEEN else now - timedelta(seconds=5)
            newest.append(StreamSnapshot(unit, stream, 2, seen_at, found, Rates(12.5 + number, 12.25)))
    assert registry.verdicts("none") == ()
    with transaction(project.records.database, write=True) as connection:
        for table, rows in ((desired_state, wishes), (attempt, attempts), (verdict, verdicts)):
            connection.execute(insert(table), rows)
    project.records.snapshots().store(newest)


def _verdict(number: int, now: datetime, fleet: ConsoleFleet) -> Verdict:
    unread = 1000 * number if number in (STALLED, LAGGING) else 0
    return Verdict(
        health_of(number),
        fleet.says(_WHY[health_of(number)]),
        fleet.says("read the end of its log") if unread else "",
        lag_records=unread,
        batches=17,
        committed_at=now - timedelta(seconds=7),
        lag_seconds=12.5 if unread else 0.0,
        watermark_lag_seconds=3600.0,
        partitions=tuple(PartitionLag(f"{topic_of(number)}/{n}", unread // 3, 2.0) for n in range(3)),
    )


def settling_at(now: datetime, fleet: ConsoleFleet) -> SettlingStatus:
    """Return a settler that has two intervals due, which a partition holds."""
    return SettlingStatus(
        now,
        CLOSED_UNTIL,
        newest=CLOSED_UNTIL + timedelta(hours=5),
        due=2,
        oldest_due=CLOSED_UNTIL,
        overdue=timedelta(hours=1),
        due_since=now - timedelta(seconds=30),
        next_at=CLOSED_UNTIL + timedelta(hours=6),
        unread=(fleet.says("topic0005/1"),),
        disorder=timedelta(seconds=90),
    )


def _batches(project: Project, fleet: ConsoleFleet, now: datetime) -> None:
    for number in range(fleet.units):
        for stream in (f"raw_{topic_of(number)}", pipeline_of(number)):
            for batch in range(400 if number == LAGGING else 3):
                append_batch(
                    project.folder.batch_log(stream), _batch(batch, now - timedelta(seconds=5 * (400 - batch)))
                )
        log = project.processes.launcher().log(f"local.{unit_of(number)}.g2")
        if number < 10:
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text((fleet.says("a line of the log") + "\n") * 200, encoding="utf-8")


def _batch(number: int, at: datetime) -> Mapping[str, object]:
    work = 200 + 37 * (number % 11)
    return {
        "batch_id": number,
        "generation": 2,
        "at": at.isoformat(),
        "rows": 10 * (number % 7),
        "input_rows_per_second": 2.0 * (number % 7),
        "processed_rows_per_second": 30.0 + number % 5,
        "duration_ms": {"addBatch": work, "walCommit": 40, "queryPlanning": 25, "triggerExecution": work + 90},
        "watermark": (at - timedelta(minutes=90)).isoformat(),
        "state_rows": 100 + number,
        "state_bytes": 4096,
        "dropped_by_watermark": int(number % 97 == 0),
        "quarantined": {"wrong_type": 2, "missing_field": 1} if number % 50 == 7 else {},
        "lag_records": max(0, 40 - number),
        "cpu_seconds": 20.0 + number / 10,
        "jvm": {"heap_used_bytes": 3e8 + number, "heap_max_bytes": 7e8, "gc_seconds": 1.5, "threads": 80},
        "read": 30 * (number + 1),
    }


def _intervals(project: Project, fleet: ConsoleFleet, count: int) -> None:
    hour = timedelta(hours=1)
    rows, heads = [], []
    for number, pipeline in enumerate(fleet.pipelines):
        code = project.code_of(pipeline) if number == 0 else "other"
        base = {"deployment": "local", "pipeline": pipeline}
        heads.append(
            {
                **base,
                "table_version": 9,
                "closed_until": CLOSED_UNTIL,
                "raw_version": 9,
                "raw_offsets": "{}",
                "raw_topics": "[]",
            }
        )
        for place in range(480 if number == 0 else count):
            start = CLOSED_UNTIL - (place + 1) * hour
            written = Written(
                owner=fleet.says("backfill") if place % 5 == 0 else "stream",
                generation=None if place % 5 == 0 else 2,
                version=7,
                at=CLOSED_UNTIL,
                offsets={"t/0": 5},
                code=code if place % 7 else "another",
                content=Content(1000 + place, "12345"),
            )
            verified = Verified(backfill="b", code=code, at=CLOSED_UNTIL) if place % 3 == 0 else None
            dirty = (fleet.says("records were dropped"),) if place % 11 == 0 else ()
            row = LedgerRow(Interval(start, start + hour), written, written, dirty, verified)
            rows.append({**base, **columns_of(row)})
    with transaction(project.records.database, write=True) as connection:
        connection.execute(insert(ledger), heads)
        for first in range(0, len(rows), 1000):
            connection.execute(insert(interval), rows[first : first + 1000])


def _cases(project: Project, fleet: ConsoleFleet, now: datetime) -> None:
    cases = project.records.cases()
    for number in range(min(fleet.units, 20)):
        places = RecordPositions.joined([("topicid", 0, (number * 10, number * 10 + 4))])
        opened = CaseEvent(CaseState.OPEN, fleet.says("ada"), fleet.says("look"), now - timedelta(days=1))
        case = Case(f"case-{number:04}", pipeline_of(number), fleet.says("asked"), places, {"malformed": 5}, (opened,))
        cases.open(case)
        if number % 2:
            cases.add(case.id, replace(opened, state=CaseState.DISCARDED, why="no use"))


def _alerts(project: Project, fleet: ConsoleFleet, clock: Clock) -> None:
    journal = Journal(project.folder.alerts, clock=clock)
    for number in range(min(fleet.units, 60)):
        alert = Alert(
            id=f"{number:08x}",
            at=clock.now() - timedelta(minutes=number),
            level=Level.TASK,
            what=fleet.says("Task failed"),
            why=fleet.says("because"),
            evidence=(fleet.says("fact"),),
            where="",
            what_to_do=fleet.says("do"),
            dag_id=f"stream_{unit_of(number)}",
            run_id=fleet.says("run"),
        )
        journal.append(alert)
        outcome = DeliveryOutcome.FAILED if number % 9 == 0 else DeliveryOutcome.DELIVERED
        journal.append(Delivery(alert.id, clock.now(), outcome, fleet.says("detail")))


def _objectives(project: Project, fleet: ConsoleFleet, now: datetime) -> None:
    """Put two hours of each output on record: good, but of the stalled one, which was stale for the last."""
    log = project.records.objectives()
    for minute in range(120):
        names = {f"{name}/{name}": Minute.GOOD for name in fleet.pipelines}
        stale = {f"{name}/{name}": Minute.STALE for name in fleet.pipelines[STALLED : STALLED + 1]}
        log.observe(names | (stale if minute >= 60 else {}), now - timedelta(minutes=119 - minute))
