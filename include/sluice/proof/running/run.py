"""A proof of a real pipeline, from its copy of the project to its verdict."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from errno import ENOSPC
from pathlib import Path

from sluice.clock import SystemClock
from sluice.errors import NotReadyError, SluiceError, UnreachableError
from sluice.kafka.client.removal import OwnTopics
from sluice.launch.processes import DRIVER_MARK, end_marked
from sluice.project.project import Project
from sluice.proof.eligibility import covered_outputs, refuse_ineligible
from sluice.proof.findings import ProofVerdict
from sluice.proof.report import id_of
from sluice.proof.running.alerts import MeanwhileAlerts
from sluice.proof.running.batches import PROOF_MARK
from sluice.proof.running.copying import copy_project
from sluice.proof.running.faults import refuse_shared_faults
from sluice.proof.running.load import MOST_TIMES, ProofLoad, load_of
from sluice.proof.running.place import PREFIX, ProofPlace, leftovers, refuse_no_room, refuse_shared
from sluice.proof.running.request import ProofRequest, ProvenRun, Tell
from sluice.proof.running.steps import ProofSteps
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import Output, SinkOutput, WrittenTopic

_LONGEST_NAME = 63
_END_SECONDS = 20.0


def proofs_of(project: Project) -> Path:
    """Return the folder of all proofs."""
    return project.folder.proofs


def remove_leftovers(project: Project, tell: Tell) -> int:
    """Remove what proofs have left behind whose process was killed, and return how many those were."""
    found = leftovers(proofs_of(project))
    for place in found:
        topics = ", ".join(place.read.values())
        tell(f"removing what the proof {place.root.name} of {place.pipeline} left behind: topic {topics}")
        _try_to_remove(project, place, tell, keep=place.is_evidence)
    return len(found)


def prove(
    project: Project,
    spec: PipelineSpec,
    asked: ProofRequest,
    tell: Tell,
    conclude: Callable[[ProofPlace, ProvenRun], object] = lambda _place, _run: None,
) -> tuple[ProofPlace, ProvenRun]:
    """Prove a pipeline in a copy of the project. On the way out, the driver and the topic are gone.

    Args:
        project: the deployment's own.
        spec: of the pipeline.
        asked: what is to be proven.
        tell: is told of each step.
        conclude: is called with the result, before anything is removed: it keeps the report.

    Raises:
        SpecError: a proof can do nothing with such a pipeline or topic.
        RefusedError: it would touch what is the deployment's own.
        NotReadyError: the stack is not up, or the driver does not start.
        UnreachableError: Kafka does not answer.
    """
    refuse_ineligible(spec, project.catalog.topics)
    load = load_of(project, spec, rate=asked.rate, seconds=asked.seconds)
    place = _place_for(project, spec, asked)
    keep = asked.keep
    try:
        run = _proven(project, spec, place, asked, load, tell=tell)
        keep = asked.keep or run.proof.verdict is not ProofVerdict.PROVEN
        conclude(place, run)
    except (NotReadyError, UnreachableError):  # the message names a log
        keep = True
        raise
    except OSError as error:
        if error.errno != ENOSPC:
            raise
        raise NotReadyError(f"the disk of {place.root} is full.", fix="free some space, then prove again.") from error
    finally:
        _try_to_remove(project, place, tell, keep=keep)
    return place, run


def _proven(
    project: Project, spec: PipelineSpec, place: ProofPlace, asked: ProofRequest, load: ProofLoad, *, tell: Tell
) -> ProvenRun:
    copy_project(project, spec, place)
    alerts = MeanwhileAlerts(project, place)
    steps = ProofSteps(place.open(project.settings), place, asked, load.named(place.read), alerts, tell=tell)
    run = steps.result()
    covered = covered_outputs(spec)
    others = tuple(f"{each.kind} {_name(each)}" for each in spec.every_output if each not in covered)
    return replace(run, uncovered=(*run.uncovered, *others), beside=alerts.about_others())


def _place_for(project: Project, spec: PipelineSpec, asked: ProofRequest) -> ProofPlace:
    """Return where a new proof runs; it is on record.

    Raises:
        RefusedError: it would touch what is the deployment's own.
        NotReadyError: there is no room.
    """
    refuse_shared(project)
    refuse_shared_faults(project.deployment.kafka, asked.faults)
    refuse_no_room(proofs_of(project), asked.rate * asked.seconds * MOST_TIMES)
    chance = uuid.uuid4().hex[:8]
    name = id_of(spec.name, project.clock.now(), chance)
    own = own_names(chance, (*spec.topics, *(each.topic for each in spec.written_topics)))
    filled = {each.topic: own[each.topic] for each in spec.written_topics}
    place = ProofPlace(proofs_of(project) / name, {topic: own[topic] for topic in spec.topics}, spec.name, filled)
    place.record()
    return place


def own_names(proof: str, topics: Iterable[str]) -> dict[str, str]:
    """Return the names that topics have in a proof: no two alike, however long theirs are."""
    names = {topic: f"{PREFIX}{proof}_{topic}"[:_LONGEST_NAME] for topic in topics}
    twice = Counter(names.values())
    return {
        topic: f"{PREFIX}{proof}_{number}_{topic}"[:_LONGEST_NAME] if twice[name] > 1 else name
        for number, (topic, name) in enumerate(names.items())
    }


def _name(output: Output) -> str:
    match output:
        case WrittenTopic(topic=name) | SinkOutput(name=name):
            return name
        case _:
            return output.table


def _try_to_remove(project: Project, place: ProofPlace, tell: Tell, *, keep: bool) -> None:
    """Remove what a proof uses, or say why it stays: it is on record, and the next proof tries again."""
    try:
        _remove(project, place, keep=keep)
    except SluiceError as error:
        tell(f"  what the proof {place.root.name} used stays for now: {error}")


def _remove(project: Project, place: ProofPlace, *, keep: bool) -> None:
    """End the processes of a proof, remove its topics, and its copy unless that is kept."""
    end_marked(PROOF_MARK, str(place.state.root), SystemClock(), deadline_seconds=_END_SECONDS)
    for folder in place.state.drivers.glob("*"):
        end_marked(DRIVER_MARK, str(folder), SystemClock(), deadline_seconds=_END_SECONDS)
    with OwnTopics(project.kafka.bootstrap(), project.kafka.client()) as topics:
        topics.prefix = PREFIX
        topics.remove(place.topics)
    place.release(keep=keep)
