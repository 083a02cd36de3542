"""How a proof's copy of a project connects to Kafka: as the planner of the deployment does, who may create topics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from sluice.devstack.kafka.admin import administrators_file, authority_file
from sluice.launch.endpoints import Endpoints, read_endpoints, write_endpoints
from sluice.project.project import Project
from sluice.settings import StateFolder
from sluice.specs.model.access import Role


def copy_connection(project: Project, include: Path, state: StateFolder) -> None:
    """Write the copy's deployment, and whatever it needs to connect: no secret, but the names of those that hold them.

    Everything of the copy connects as the deployment's planner, or as the administrator of an embedded cluster: other
    principals have no right to topics that nobody has declared.

    Args:
        project: the deployment's own.
        include: the folder of the copy's specs, with its parts.
        state: the copy's state folder.
    """
    deployment = project.deployment
    if deployment.kafka.kind == "embedded":
        found = read_endpoints(project.folder)
        write_endpoints(state, Endpoints(found.kafka_bootstrap, airflow_url="", kafka_secured=found.kafka_secured))
        if found.kafka_secured:
            _link_administrator(project.folder.kafka, state.kafka)
        kafka: dict[str, Any] = {"kind": "embedded"}
    else:
        kafka = _as_planner(_document(project)["kafka"], project)
    document = {"name": deployment.name, "kafka": kafka, "replication": deployment.replication}
    _write(include / f"deployments/{deployment.name}.yaml", document)


def _link_administrator(there: Path, here: Path) -> None:
    """Let the copy find the administrator's file and the authority of the brokers where they are."""
    for file in (administrators_file(there), authority_file(there)):
        link = here / file.relative_to(there)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(file)


def _as_planner(kafka: dict[str, Any], project: Project) -> dict[str, Any]:
    """Return the connection of an external cluster, with the planner's login for everything, if there is one."""
    principal = project.kafka.users.get(project.kafka.spec.users.get(Role.PLANNER, ""))
    own = {key: value for key, value in kafka.items() if key != "users"}
    if principal is None or principal.scram is None:  # a certificate, or nothing, says who it is
        return own
    scram = principal.scram.model_dump(mode="json", include={"password_variable", "mechanism"})
    return {**own, "login": {"user": principal.user, **scram}}


def _document(project: Project) -> dict[str, Any]:
    file = project.settings.home / f"include/deployments/{project.deployment.name}.yaml"
    document: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return document


def _write(file: Path, document: dict[str, Any]) -> None:
    file.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
