"""The DAG that proves pipelines, run by Airflow with proofs of simulated pipelines."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from airflow.sdk import DagRunState
from airflow.sdk.exceptions import ParamValidationError

from benchmarks.proving.pipeline import ModelPipeline
from benchmarks.proving.sabotages import LosesTheTail
from benchmarks.proving.world import Load, World
from sluice.airflow.dags.proofs import ProveOperator, build_prove_dag, chosen, verdict_error
from sluice.airflow.links import ProofLink
from sluice.errors import RefusedError, SpecError
from sluice.project.project import Project
from sluice.proof.judgement import judge
from sluice.proof.observations import LatencyBounds
from sluice.proof.recording import keeping
from sluice.proof.report import ProofReports, id_of
from sluice.proof.running.place import ProofPlace
from sluice.proof.running.request import ProofRequest, ProvenRun, Tell
from sluice.specs.model.alerting import AlertClass
from sluice.specs.model.model import PipelineSpec
from tests.twins.opened_project import opened_project

pytestmark = pytest.mark.usefixtures("airflow_database")
FORM = {"pipelines": ["departures"], "faults": ["kill-jvm", "lose-checkpoint"], "rate": 5, "minutes": 0.5}


@dataclass
class SimulatedProofs:
    """Proves a pipeline in memory instead of the one that is asked for; what was asked is remembered."""

    pipeline: type[ModelPipeline] = ModelPipeline
    is_blind: bool = False
    error: Exception | None = None
    asked: list[tuple[str, ProofRequest]] = field(default_factory=list)

    def prove(
        self,
        project: Project,
        spec: PipelineSpec,
        asked: ProofRequest,
        tell: Tell,
        conclude: Callable[[ProofPlace, ProvenRun], object],
    ) -> tuple[ProofPlace, ProvenRun]:
        self.asked.append((spec.name, asked))
        if self.error is not None:
            raise self.error
        tell("a line of the proof")
        world = World(Load(seed=2))
        seen = self.pipeline(world).run()
        if self.is_blind:
            seen = replace(seen, faults=tuple(replace(fault, evidence="") for fault in seen.faults))
        name = id_of(spec.name, project.clock.now(), uuid.uuid4().hex[:8])
        run = ProvenRun(judge(world.journal, seen), world.journal, seen, ("raw",), ())
        place = ProofPlace(project.folder.proofs / name, {"flights": "prove_1_flights"}, spec.name)
        conclude(place, run)
        return place, run


@pytest.fixture
def proofs(monkeypatch: pytest.MonkeyPatch) -> SimulatedProofs:
    simulated = SimulatedProofs()
    monkeypatch.setattr(keeping, "prove", simulated.prove)
    return simulated


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    return lambda: caplog.text + capsys.readouterr().out


def run(project: Project, conf: dict[str, object] | None = None) -> tuple[str, dict[str, str]]:
    """Run the DAG, and return its state and those of its tasks."""
    dag = build_prove_dag()
    for task in dag.tasks:
        task.partial_kwargs.update(retries=0) if task.is_mapped else setattr(task, "retries", 0)
    with opened_project(project):
        done = dag.test(run_conf=conf or {})
    return str(done.state), {ti.task_id: str(ti.state) for ti in done.get_task_instances()}


def test_without_a_pipeline_that_asks_for_it_the_run_is_skipped(project: Project, proofs: SimulatedProofs) -> None:
    state, tasks = run(project)
    assert (state, tasks["choose"], tasks["prove"]) == (DagRunState.SUCCESS, "skipped", "skipped")
    assert proofs.asked == []


def test_the_form_says_what_is_proven_and_how_and_the_report_is_kept(
    project: Project, proofs: SimulatedProofs, said: Callable[[], str]
) -> None:
    state, _ = run(project, FORM)
    assert state == DagRunState.SUCCESS
    ((pipeline, asked),) = proofs.asked
    assert (pipeline, asked.rate, asked.seconds) == ("departures", 5, 30)
    assert [str(fault) for fault in asked.faults] == ["kill-jvm", "lose-checkpoint"]
    assert asked.bounds == LatencyBounds()
    reports = ProofReports(project.folder.proofs)
    ((identity,),) = reports.ids().values()
    assert reports.read(identity).verdict == "proven"
    assert "a line of the proof" in said()


def test_a_broken_pipeline_makes_the_run_red_with_its_verdict(
    project: Project, proofs: SimulatedProofs, said: Callable[[], str]
) -> None:
    proofs.pipeline = LosesTheTail
    state, tasks = run(project, FORM)
    assert (state, tasks["prove"]) == (DagRunState.FAILED, "failed")
    words = said()
    assert "departures is broken: an output breaks a promise (lost_tail, gap" in words
    assert "sluice proofs show departures-" in words


def test_an_inconclusive_proof_is_red_in_other_words(
    project: Project, proofs: SimulatedProofs, said: Callable[[], str]
) -> None:
    proofs.is_blind = True
    state, _ = run(project, FORM)
    assert state == DagRunState.FAILED
    words = said()
    assert "departures is inconclusive: nothing broken was found" in words
    assert "is broken" not in words


@pytest.mark.parametrize(
    ("form", "why"),
    [({"faults": ["earthquake"]}, "earthquake"), ({"rate": 0}, "minimum"), ({"minutes": 11}, "maximum")],
)
def test_a_form_that_cannot_be_meant_is_not_taken(
    project: Project, proofs: SimulatedProofs, form: dict[str, object], why: str
) -> None:
    with pytest.raises(ParamValidationError, match=why):
        run(project, {**FORM, **form})
    assert proofs.asked == []


def test_a_pipeline_that_is_not_there_makes_the_run_red_and_no_other_is_proven(
    project: Project, proofs: SimulatedProofs, said: Callable[[], str]
) -> None:
    assert run(project, {**FORM, "pipelines": ["departures", "nobody"]})[0] == DagRunState.FAILED
    assert "there is no sound pipeline nobody." in said()
    assert proofs.asked == []


def test_what_is_refused_is_red_in_its_own_words(
    project: Project, proofs: SimulatedProofs, said: Callable[[], str]
) -> None:
    proofs.error = RefusedError("it would touch tables.", fix="prove elsewhere.")
    assert run(project, FORM)[0] == DagRunState.FAILED
    assert "it would touch tables. Fix: prove elsewhere." in said()


def test_the_form_offers_only_faults_of_the_proofs_own_driver() -> None:
    offered = build_prove_dag().params.get_param("faults").schema["items"]["enum"]
    assert offered == ["kill-driver", "kill-jvm", "pause-driver", "lose-checkpoint"]


def operator() -> ProveOperator:
    return ProveOperator(task_id="prove", pipeline="departures", faults=["kill-driver"], rate=20, minutes=1)


def test_only_a_broken_pipeline_alerts_as_a_broken_proof_and_is_not_tried_again(
    project: Project, proofs: SimulatedProofs
) -> None:
    with opened_project(project):
        blind, broken = operator(), operator()
        proofs.is_blind = True
        with pytest.raises(Exception, match="is inconclusive") as unseen:
            blind.execute({})
        proofs.is_blind, proofs.pipeline = False, LosesTheTail
        with pytest.raises(Exception, match="is broken") as failed:
            broken.execute({})
    assert (getattr(blind, "alert_class", None), broken.alert_class) == (None, AlertClass.PROOF)
    assert [type(each.value).__name__ for each in (unseen, failed)] == ["AirflowException", "AirflowFailException"]
    assert any("the last acknowledged records" in note for note in failed.value.__cause__.__notes__)


def test_the_alert_of_a_verdict_names_each_finding_once_and_where_to_read_on(
    project: Project, proofs: SimulatedProofs
) -> None:
    proofs.pipeline = LosesTheTail
    with opened_project(project), pytest.raises(Exception, match="is broken"):
        operator().execute({})
    reports = ProofReports(project.folder.proofs)
    ((identity,),) = reports.ids().values()
    error = verdict_error(reports.read(identity))
    assert error.message.count("lost_tail") == 1
    assert error.fix.endswith(f"`sluice proofs show {identity}`.")


def test_the_pipelines_that_ask_for_it_are_proven_unless_others_are_named(project: Project) -> None:
    assert chosen(project, None) == []
    spec = project.catalog.pipelines["departures"]
    asking = {"departures": spec.model_copy(update={"prove": "weekly"}), "arrivals": spec}
    project.catalog.pipelines.clear()
    project.catalog.pipelines.update(asking)
    assert chosen(project, []) == ["departures"]
    assert chosen(project, ["arrivals", "arrivals"]) == ["arrivals"]
    with pytest.raises(SpecError, match="no sound pipeline nobody"):
        chosen(project, ["nobody"])


def test_the_link_leads_to_the_pipelines_newest_proof() -> None:
    path = ProofLink().get_link(operator(), ti_key=None)  # type: ignore[arg-type]  # it is not asked
    assert path.endswith("/sluice/proofs/departures")
