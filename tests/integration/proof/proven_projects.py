"""Proofs of projects with a real broker and real drivers."""

from __future__ import annotations

from pathlib import Path

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.project.project import Project
from sluice.proof.running.faults import RequestedFault
from sluice.proof.running.request import ProofRequest, ProvenRun
from sluice.proof.running.run import prove
from sluice.settings import Settings


def proven(
    home: Path, pipeline: str, broker: BrokerProcess, state: Path, *, faults: tuple[RequestedFault, ...] = ()
) -> ProvenRun:
    """Prove a pipeline, and make sure that none of its topics stays."""
    place = Settings(home=home, state=state)
    write_endpoints(place.folder, Endpoints((broker.bootstrap,), airflow_url=""))
    project = Project.open_strict(place)
    asked = ProofRequest(20, 10, faults)
    _, shown = prove(project, project.catalog.pipelines[pipeline], asked, print)
    with KafkaPythonAdministration((broker.bootstrap,), {}) as administration:
        assert [name for name in administration.names() if name.startswith("prove_")] == []
    return shown
