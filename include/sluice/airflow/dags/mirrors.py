"""The DAGs of mirrors: `keep_mirrors` keeps them running as desired and alerts, `mirror_<name>` is their form."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from airflow.sdk import DAG, BaseOperator, Context, CronTriggerTimetable, Param
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from sluice.airflow import runtime
from sluice.airflow.alerts.alerting import FailureNotifier
from sluice.airflow.alerts.failure import printable
from sluice.airflow.alerts.recoveries import Recovered, notify_recoveries
from sluice.airflow.batches.backfill_tasks import run_of
from sluice.airflow.dags.conventions import Tag, give_form, is_parsed, reason_param, sluice_dag
from sluice.airflow.dags.specs import scan_for_dags
from sluice.airflow.failures import retried_only_if_unknown
from sluice.airflow.project_operator import ProjectOperator
from sluice.airflow.rounds import AskedOfAirflow, Found, RoundOperator, RoundTrigger
from sluice.airflow.streams.stream_request import NO_REASON
from sluice.alerts.alert import Level
from sluice.alerts.incidents import Key
from sluice.errors import RefusedError, SluiceError
from sluice.mirrors.alerting import class_of_verdict, ends
from sluice.mirrors.lag import MirrorVerdict
from sluice.project.mirroring.failover import Failover, units_of
from sluice.project.mirroring.mirrors import MirrorStanding, ProjectMirrors
from sluice.settings import settings
from sluice.specs.catalog.dag_ids import KEEP_MIRRORS, mirror_unit
from sluice.specs.deployments.mirror import MirrorSpec
from sluice.specs.model.alerting import AlertClass
from sluice.specs.reading.kinds import Kind
from sluice.streams.life.attempts import Attempt, Desired
from sluice.streams.life.life import UnitLife
from sluice.streams.life.reconcile import ActionKind, reconcile

log = logging.getLogger(__name__)

ACTIONS: Mapping[str, str] = {
    "rehearse": "Rehearse a fail-over: compare both clusters around the streams' positions; nothing is changed",
    "start": "Start it, or adopt its process",
    "stop": "Stop it, and keep it stopped",
}
_STOP_SECONDS = 60.0


def build_mirror_dags() -> list[DAG]:
    """Build the DAGs of all sound mirrors; none, and no `keep_mirrors`, in a project without one."""
    if not any((settings().home / "include" / Kind.MIRROR.folder).glob("*.yaml")):
        return []  # the other specs need not be read for that
    mirrors = scan_for_dags().catalog.mirrors.values()
    dags = [build_mirror_dag(mirror) for mirror in mirrors if is_parsed(mirror_unit(mirror.name))]
    return [*dags, build_keep_mirrors_dag()] if is_parsed(KEEP_MIRRORS) else dags


def build_keep_mirrors_dag() -> DAG:
    """Build the DAG that looks after all mirrors."""
    with sluice_dag(
        KEEP_MIRRORS,
        doc=_KEEP,
        description="Keeps mirrors running as desired; fails for each that is dead, or too far behind.",
        tags=(Tag.TOPICS, Tag.UPKEEP),
        schedule=CronTriggerTimetable("* * * * *", timezone="UTC"),
        dagrun_timeout=timedelta(minutes=10),
        on_failure_callback=FailureNotifier(Level.DAG, tasks_notify=True),
    ) as dag:
        look = RoundOperator(
            task_id="look",
            in_triggerer=MirrorTrigger,
            doc_md="Asks the launcher and both clusters of each mirror. Skipped where all is well.",
        )
        KeepMirrorOperator.partial(
            task_id="keep",
            map_index_template="{{ task.mirror }}",
            retries=0,  # the next check decides again
            doc_md="One for each mirror that is to be started or stopped, or that somebody has to look at.",
        ).expand_kwargs(look.output)
    return dag


class MirrorTrigger(RoundTrigger):
    """Looks at all mirrors."""

    def round(self, ti: AskedOfAirflow) -> Found:
        """Return the arguments of one `KeepMirrorOperator` per mirror with something to do; report what is over."""
        _ = ti
        found: Found = []
        standings = dict[str, MirrorStanding]()
        with retried_only_if_unknown():
            mirrors = ProjectMirrors(runtime.open_project())
            for name in sorted(mirrors.project.catalog.mirrors):
                match _looked_at(mirrors, name):
                    case ActionKind() as action:
                        found.append(_argument(name, action=action.value))
                    case MirrorStanding() as standing:
                        standings[f"mirror {name}"] = standing
                        found += [_red(name, standing.verdict)] if standing.verdict.alerts else []
        clock = mirrors.project.clock
        notify_recoveries(KEEP_MIRRORS, partial(_proof, standings, clock.now()), clock)
        return found


def _looked_at(mirrors: ProjectMirrors, name: str) -> ActionKind | MirrorStanding | None:
    """Return what is to be done with a mirror's process, else its verdict; None if nothing is known."""
    try:
        action = reconcile(mirrors.life(name).record_end(), watched=True, now=mirrors.project.clock.now())
        if action.kind in {ActionKind.START, ActionKind.STOP}:
            log.info("%s: %s, because %s", name, action.kind, action.why)
            return action.kind
        standing = mirrors.standing(name)
    except SluiceError as error:
        log.error("%s: not looked at: %s", name, error)  # noqa: TRY400 - the message says it all
        return None
    log.info("%s: %s: %s", name, standing.verdict.health, standing.verdict.said)
    return standing


def _argument(name: str, **given: str) -> dict[str, str]:
    """Return the arguments of one operator. `why` is empty where nobody has to look."""
    nothing = dict.fromkeys(("action", "why", "fix", "alert_class"), "")
    return {"mirror": name, "subject": f"mirror {name}", **nothing, **given}


def _red(name: str, verdict: MirrorVerdict) -> dict[str, str]:
    kind = class_of_verdict(verdict) or AlertClass.STOPPED
    return _argument(name, why=printable(verdict.why), fix=verdict.what_to_do, alert_class=kind.value)


def _proof(standings: Mapping[str, MirrorStanding], now: datetime, key: Key) -> Recovered | None:
    """Return the proof that an alert about a mirror is over; None of one without a verdict: that proves nothing."""
    subject, alert_class = key
    standing = standings.get(subject)
    if standing is None or not ends(alert_class, standing.verdict, now - standing.since):
        return None
    verdict = standing.verdict
    return Recovered(f"It is {verdict.health} now. {verdict.why}", well=not verdict.alerts)


class KeepMirrorOperator(BaseOperator):
    """Starts or stops the process of one mirror, or fails with its verdict."""

    def __init__(
        self,
        *,
        mirror: str,
        subject: str,
        action: str,
        why: str,
        fix: str,
        alert_class: str,
        **arguments: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(**arguments)
        self.mirror = mirror
        self.action = action
        self.why = why
        self.fix = fix
        if alert_class:
            self.alert_subject = subject
            self.alert_class = AlertClass(alert_class)

    def execute(self, context: Context) -> None:
        """Do it.

        Raises:
            AirflowFailException: somebody has to look at it; or it cannot be started, and why.
            AirflowSkipException: a user was quicker, and it is no longer wanted.
        """
        _ = context
        if self.why:
            found = SluiceError(self.why, fix=self.fix)
            raise AirflowFailException(str(found)) from found
        with retried_only_if_unknown():
            life = ProjectMirrors(runtime.open_project()).life(self.mirror)
            if self.action == ActionKind.STOP:
                _finish_stop(life)
            elif (attempt := life.claim(governed=True).attempt) is not None:
                _submit(life, attempt)


def _finish_stop(life: UnitLife) -> None:
    try:
        life.finish_stop(_STOP_SECONDS)
    except RefusedError as refusal:
        desired = life.observe().desired
        if desired is not None and desired.state is Desired.STOPPED:
            raise
        raise AirflowSkipException(str(refusal)) from refusal


def _submit(life: UnitLife, attempt: Attempt) -> None:
    try:
        life.submit(attempt)
    except RefusedError as refusal:
        raise AirflowSkipException(str(refusal)) from refusal


def build_mirror_dag(mirror: MirrorSpec) -> DAG:
    """Build the DAG of one mirror: its form, and its rehearsals by the clock."""
    cron = mirror.rehearse
    with sluice_dag(
        mirror_unit(mirror.name),
        doc=_MIRROR.format(mirror=mirror),
        description=f"Copies topics from {mirror.source} to {mirror.target}: start, stop, rehearse a fail-over.",
        tags=(Tag.TOPICS,),
        schedule=None if cron is None else CronTriggerTimetable(cron, timezone="UTC"),
        max_active_runs=4,
    ) as dag:
        MirrorOperator(
            task_id="act",
            subject=mirror.name,
            execution_timeout=timedelta(minutes=30),
            doc_md="Does what the form asks for; a run by the clock rehearses. Red if a rehearsal is not exact.",
        )
    give_form(dag, _form())
    return dag


class MirrorOperator(ProjectOperator):
    """Starts, stops or rehearses."""

    def execute(self, context: Context) -> str:
        """Do it, and return what came of it in a sentence.

        Raises:
            AirflowFailException: it was refused, or a copy is missing, differs or is double.
        """
        params: Mapping[str, Any] = context["params"]
        with retried_only_if_unknown():
            mirrors, by, why = (
                ProjectMirrors(runtime.open_project()),
                run_of(context["dag_run"]).by,
                str(params["reason"]),
            )
            mirrors.spec(self.subject)
            if params["action"] == "start":
                return mirrors.start(self.subject, by=by, why=why).why
            if params["action"] == "stop":
                return str(mirrors.life(self.subject).stop(by, why, _STOP_SECONDS).state)
            return self._rehearsed(mirrors, params["unit"])

    def _rehearsed(self, mirrors: ProjectMirrors, unit: str | None) -> str:
        units = [mirrors.project.catalog.unit(unit)] if unit else units_of(mirrors, self.subject)
        inexact = []
        for each in units:
            report = Failover(mirrors, self.subject, each).rehearse()
            for line in report.lines():
                self.log.info("%s", line)
            inexact += [] if report.exact else [each.name]
        if inexact:
            raise AirflowFailException(f"The fail-over of {', '.join(inexact)} would not be exact; the log says why.")
        return f"rehearsed: {', '.join(each.name for each in units) or 'no unit reads its topics alone'}"


def _form() -> dict[str, Param]:
    return {
        "action": Param(
            "rehearse",
            type="string",
            enum=list(ACTIONS),
            values_display=dict(ACTIONS),
            title="Action",
            description_md="A real fail-over is made on the command line: `sluice mirror failover`.",
        ),
        "unit": Param(
            None,
            type=["null", "string"],
            title="Unit",
            description_md="Whose fail-over is rehearsed; empty: of every unit that reads nothing else.",
        ),
        "reason": reason_param(NO_REASON),
    }


_KEEP = """# Mirrors

Each minute it asks, of each mirror, what is desired, whether its process lives, and how far it is behind. A process
that died is started again, with the backoff of streams; a stop that is not finished is finished. A mirror that is dead
for good, unknown, or behind more than its spec allows fails by its name, alerts once, and once more when it is over:
it has been well for five minutes, or is stopped on request.
"""
_MIRROR = """# Mirror `{mirror.name}`

MirrorMaker 2 copies topics from `{mirror.source}` to `{mirror.target}`, outside Airflow; `keep_mirrors` looks after it.
The form starts and stops it, and rehearses the fail-over of a unit's streams: where they would go on, what would be
lost or double, and whether every record has one copy that says the same. The reports are in the state folder,
`mirrors/{mirror.name}/reports`.
"""
