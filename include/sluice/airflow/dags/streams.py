"""The DAGs `stream_<unit>`: claim, submit outside Airflow, watch; and stop and restart through the same form."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache

from airflow.sdk import DAG, Param
from airflow.timetables.trigger import CronTriggerTimetable

from sluice.airflow.dags.conventions import DEFAULT_OWNER, Tag, give_form, is_parsed, reason_param, sluice_dag
from sluice.airflow.dags.specs import scan_for_dags
from sluice.airflow.streams.following import FollowOperator
from sluice.airflow.streams.stream_request import LONGEST_CLAIM, LONGEST_STOP, NO_REASON, UnitCommand
from sluice.airflow.streams.stream_tasks import ClaimOperator, SubmitOperator
from sluice.airflow.streams.watch import DAY, WatchOperator
from sluice.settings import settings
from sluice.specs.catalog.dag_ids import stream_dag_id
from sluice.specs.model.duration import format_duration
from sluice.specs.model.schedule import RunPlan
from sluice.specs.reading.kinds import Kind
from sluice.specs.units import DeclaredUnit, declared_units

MAX_ACTIVE_RUNS = 16
"""Several on purpose: a run watches for a day, and a stop must not queue behind it. A younger watch of the same driver
ends the older one, so they do not pile up. Nor do runs of a schedule: one that finds a driver at work is over at once,
and what that driver has not read is read by the next one as soon as it has ended."""


def build_stream_dags() -> list[DAG]:
    """Build the DAG of every declared unit; a broken unit gets one too."""
    include = settings().home / "include"
    units = declared_units(scan_for_dags((Kind.TOPIC, Kind.PIPELINE)), include).values()
    return [build_stream_dag(unit) for unit in units if is_parsed(stream_dag_id(unit.name))]


def build_stream_dag(declared: DeclaredUnit, *, limit: timedelta = DAY) -> DAG:
    """Build the DAG of one unit. With faults, it adopts, watches and stops a driver, and starts none."""
    streams = ", ".join(declared.unit.streams) or "its specs are broken"
    broken = (Tag.BROKEN_SPEC,) if declared.faults else ()
    cron = declared.unit.plan.schedule
    with sluice_dag(
        stream_dag_id(declared.name),
        doc=_documentation(declared),
        description=f"Runs the streams of unit {declared.name}: {streams}.",
        tags=(Tag.STREAM, *broken),
        owner=", ".join(declared.owners) or DEFAULT_OWNER,
        schedule=None if cron is None else _timetable(cron),
        start_date=None if cron is None else datetime(2025, 1, 1, tzinfo=UTC),
        max_active_runs=MAX_ACTIVE_RUNS,
    ) as dag:
        _tasks(declared, limit)
    give_form(dag, _form())
    return dag


@cache
def _timetable(cron: str) -> CronTriggerTimetable:
    """Return the schedule of all units at a time: the scheduler's own class, for the reason that backfills have."""
    return CronTriggerTimetable(cron, timezone="UTC")


def _tasks(declared: DeclaredUnit, limit: timedelta) -> None:
    name = declared.name
    claim = ClaimOperator(
        task_id="claim",
        subject=name,
        faults=declared.faults,
        execution_timeout=LONGEST_CLAIM,
        doc_md="Records the desired state, who requested it and why; adopts the live driver or reserves the next "
        "generation.",
    )
    submit = SubmitOperator(
        task_id="submit",
        subject=name,
        multiple_outputs=True,
        doc_md="Starts the driver outside Airflow's process tree, under a key that runs at most once.",
    )
    watch = WatchOperator(
        task_id="watch",
        unit=name,
        limit=limit,
        execution_timeout=None,  # the limit ends a watch; a timeout would fail it
        doc_md="Deferred: it holds no worker. Killing or clearing it stops nothing; `action: stop` does.",
    )
    follow = FollowOperator(
        task_id="follow",
        unit=name,
        broken=bool(declared.faults),
        retries=0,  # the reconciler does the same a minute later
        doc_md="After a death that was not requested: triggers the run that starts the next generation, as soon as "
        "backoff and budget allow. Skipped otherwise. Whatever comes of it, this run keeps the watch's colour.",
    ).as_teardown(on_failure_fail_dagrun=False)
    claim >> submit >> watch >> follow


def _form() -> dict[str, Param]:
    return {
        "action": Param(
            UnitCommand.START.value,
            type="string",
            enum=[asked.value for asked in UnitCommand if asked is not UnitCommand.SCHEDULED],
            values_display={
                UnitCommand.START.value: "Start it, or adopt the driver that runs",
                UnitCommand.STOP.value: "Stop it, and keep it stopped",
                UnitCommand.RESTART.value: "Restart it from its checkpoint",
                UnitCommand.RESUME.value: "Resume it although it is HALTED: what made it fail is repaired",
                UnitCommand.FORCE.value: "Force: I know that its driver is dead, though no launcher can prove it",
                UnitCommand.FOLLOW.value: "Follow the desired state on record (what the reconciler does)",
            },
            title="Action",
            description_md="A stop is graceful: the running batch is finished and committed. Force says in the reason "
            "how you know; should the driver live after all, the next generation's fence keeps it from committing.",
        ),
        "reason": reason_param(NO_REASON),
        "deadline_seconds": Param(
            60,
            type="integer",
            minimum=1,
            maximum=int(LONGEST_STOP.total_seconds()),
            title="Deadline of a stop",
            description_md="Seconds after which the driver is killed.",
            section="Stop and restart",
        ),
    }


def _plan_text(plan: RunPlan) -> str:
    """Return when it does, as the end of a clause."""
    starts = "" if plan.schedule is None else f", started by the schedule `{plan.schedule}` (UTC)"
    if plan.bounded:
        return f"{starts}, until what was there at its start is read"
    idle = plan.stop_when_idle
    return starts if idle is None else f"{starts}, until nothing has come for {format_duration(idle)}"


def _documentation(declared: DeclaredUnit) -> str:
    unit = declared.unit
    streams = "\n".join(f"* `{stream}`" for stream in unit.streams) or "* none that could be read"
    stub = ""
    if declared.faults:
        faults = "\n".join(declared.faults)
        stub = f"""
## Its specs are broken

A driver that runs is watched on and can be stopped. None is started until they are repaired; see also `spec_errors.py`.

```
{faults}
```
"""
    return f"""# Unit `{unit.name}`
{stub}
One driver process outside Airflow runs these streams{_plan_text(unit.plan)}:

{streams}

`claim` records the desired state and adopts the driver that lives (its generation does not grow) or reserves the next
generation; `submit` starts it under a key that runs at most once; `watch` is deferred until the driver ends, a newer
generation or a younger run takes over, or a day has passed. `follow` triggers the next run if the driver died.

A green run means: the stop is on record, another run watches on, or the driver ended as its spec asks for. A red
`watch` means: the driver is dead and no stop was requested; it says whether the next generation starts by itself or the
unit is HALTED, and its log ends with all
attempts. A red `claim` of a run `halted__...` says the same of what ended while no run watched. Marking,
clearing or deleting a run stops nothing; the form's **stop** does.
"""
