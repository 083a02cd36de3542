"""The DAG `prove_weekly`: proves the pipelines whose specs ask for it, one after the other. Its form proves others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, BaseOperator, Context, CronTriggerTimetable, Param
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from sluice.airflow import runtime
from sluice.airflow.dags.conventions import Tag, give_form, sluice_dag
from sluice.airflow.failures import retried_only_if_unknown
from sluice.airflow.links import ProofLink
from sluice.devstack.airflow.configuration import BATCH_POOL
from sluice.errors import SluiceError, SpecError
from sluice.project.project import Project
from sluice.proof.findings import ProofVerdict
from sluice.proof.report import ProofReport
from sluice.proof.running.faults import RequestedFault
from sluice.specs.catalog.dag_ids import PROVE_WEEKLY
from sluice.specs.model.alerting import AlertClass

LONGEST_PROOF = timedelta(hours=2)
FAULTS = (
    RequestedFault.KILL_DRIVER,
    RequestedFault.KILL_JVM,
    RequestedFault.PAUSE_DRIVER,
    RequestedFault.LOSE_CHECKPOINT,
)
"""Those of a proof's own driver: a run by the clock strikes nothing that others use, whatever else may be requested."""
_NOTED = 8
"""Findings that an alert names."""


def build_prove_dag() -> DAG:
    """Build the DAG."""
    with sluice_dag(
        PROVE_WEEKLY,
        doc=_DOCUMENTATION,
        description="Proves pipelines under load and faults, weekly those that ask for it; red with the verdict.",
        tags=(Tag.QUALITY,),
        schedule=CronTriggerTimetable("40 4 * * 0", timezone="UTC"),
    ) as dag:
        choose = ChooseProofsOperator(
            task_id="choose",
            doc_md="Reads the form and the specs. Skipped, with all that follows, if no pipeline asks for a proof.",
        )
        ProveOperator.partial(
            task_id="prove",
            map_index_template="{{ task.pipeline }}",
            pool=BATCH_POOL,
            max_active_tis_per_dagrun=1,
            retries=1,
            retry_delay=timedelta(minutes=1),
            execution_timeout=LONGEST_PROOF,
            doc_md="One proof per pipeline. Red at once if it is broken; if it is inconclusive, after one repetition.",
        ).expand_kwargs(choose.output)
    give_form(dag, _form())
    return dag


class ChooseProofsOperator(BaseOperator):
    """Decides what is proven."""

    def execute(self, context: Context) -> list[dict[str, Any]]:
        """Return the arguments of one `ProveOperator` per pipeline.

        Raises:
            AirflowSkipException: no pipeline asks for a proof.
            AirflowFailException: the form names a pipeline that is not there.
        """
        params: Mapping[str, Any] = context["params"]
        with retried_only_if_unknown():
            names = chosen(runtime.open_project(), params["pipelines"])
        if not names:
            raise AirflowSkipException("No pipeline has `prove: weekly` in its spec, and the form names none.")
        form = {"faults": list(params["faults"]), "rate": params["rate"], "minutes": params["minutes"]}
        return [{"pipeline": name, **form} for name in names]


def chosen(project: Project, named: Sequence[str] | None) -> list[str]:
    """Return the pipelines that are named, or those whose specs ask for a weekly proof.

    Raises:
        SpecError: there is no sound pipeline of a name.
    """
    pipelines = project.catalog.pipelines
    if not named:
        return sorted(name for name, spec in pipelines.items() if spec.prove == "weekly")
    if unknown := sorted(set(named) - pipelines.keys()):
        raise SpecError(
            f"there is no sound pipeline {', '.join(unknown)}.",
            fix="name pipelines that `sluice check` finds sound.",
        )
    return list(dict.fromkeys(named))


class ProveOperator(BaseOperator):
    """Proves one pipeline, as `sluice prove` does, and fails with the verdict unless it is proven."""

    operator_extra_links = (ProofLink(),)

    def __init__(
        self,
        *,
        pipeline: str,
        faults: Sequence[str],
        rate: float,
        minutes: float,
        **arguments: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(**arguments)
        self.pipeline = pipeline
        self.faults = list(faults)
        self.rate = rate
        self.minutes = minutes

    def execute(self, context: Context) -> str:
        """Prove it, and return the id of the proof.

        Raises:
            AirflowFailException: it is broken, or no proof can be made of it.
            AirflowException: the proof is inconclusive; it is repeated.
        """
        _ = context
        with retried_only_if_unknown():
            report = self._proven(runtime.open_project())
        if report.verdict is ProofVerdict.PROVEN:
            return report.proof
        error = verdict_error(report)
        if report.verdict is ProofVerdict.BROKEN:
            self.alert_class = AlertClass.PROOF
            raise AirflowFailException(str(error)) from error
        raise AirflowException(str(error)) from error

    def _proven(self, project: Project) -> ProofReport:
        # Parsing must not pay for Kafka's client and Delta.
        from sluice.proof.recording.keeping import prove_and_keep  # noqa: PLC0415 - see above
        from sluice.proof.running.request import ProofRequest  # noqa: PLC0415 - see above

        (name,) = chosen(project, [self.pipeline])
        faults = tuple(map(RequestedFault, self.faults))
        asked = ProofRequest(float(self.rate), 60 * float(self.minutes), faults)
        _, _, report = prove_and_keep(
            project, project.catalog.pipelines[name], asked, lambda line: self.log.info("%s", line)
        )
        return ProofReport.model_validate(report)


def verdict_error(report: ProofReport) -> SluiceError:
    """Return a verdict other than PROVEN as an error; the findings are its notes."""
    what = ", ".join(dict.fromkeys(finding.fault for finding in report.findings))
    error = SluiceError(
        f"{report.pipeline} is {report.verdict}: {report.verdict.meaning} ({what}).",
        fix=f"{report.verdict.what_to_do}; `sluice proofs show {report.proof}`.",
    )
    for finding in report.findings[:_NOTED]:
        error.add_note(f"{finding.where}: {finding.meaning} ({finding.count:,}, such as {finding.example})")
    return error


def _form() -> dict[str, Param]:
    faults = [fault.value for fault in FAULTS]
    return {
        "pipelines": Param(
            None,
            type=["null", "array"],
            items={"type": "string"},
            title="Pipelines",
            description_md="Names; empty: those with `prove: weekly` in their specs.",
        ),
        "faults": Param(
            [FAULTS[0].value],
            type="array",
            items={"type": "string", "enum": faults},
            examples=faults,
            title="Faults",
            description_md="What strikes the proof's own driver, one after the other.",
        ),
        "rate": Param(
            20, type="number", minimum=1, maximum=500, title="Rate", description_md="Records per second that are sent."
        ),
        "minutes": Param(
            1,
            type="number",
            minimum=0.1,
            maximum=10,
            title="Minutes",
            description_md="How long records are sent at least; faults make it longer.",
        ),
    }


_DOCUMENTATION = """# Proofs

Sends records that it keeps a journal of through a copy of each pipeline, with a topic and a driver of its own, lets
faults strike the driver, and compares what is in the tables with what was sent. Nothing else of the deployment is
touched. Each Sunday at 04:40 UTC it proves the pipelines with `prove: weekly` in their specs; without any, the run is
skipped. The form proves others.

`prove` is red at once, and alerts as `proof`, if a pipeline is **broken**. An **inconclusive** proof is repeated once:
not everything could be seen, which is no pass. The link opens the pipeline's newest proof in the console.

A proof is in its worker. If that is killed, only the proof is lost: the next one removes what it has left behind.
"""
