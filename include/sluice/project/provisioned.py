"""What a project's plan is about: the topics that it declares, and who may use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluice.devstack.kafka.security import is_secured
from sluice.project.logins import passwords_of
from sluice.provisioning.access_scope import AccessScope
from sluice.provisioning.plans.declared import Declared

if TYPE_CHECKING:
    from sluice.project.project import Project

UNASKED = (
    "Principals are declared, and the embedded cluster asks nobody who he is, so access is not in this plan: "
    "`sluice up --secure` lets it ask."
)


def declared_topics(project: Project) -> Declared:
    """Return what the specs say of topics in the project's deployment.

    Raises:
        SpecError: the topology file is not there, or not sound.
    """
    return Declared.of(project.catalog, project.deployment, project.settings.home / "include")


def declared_access(project: Project) -> AccessScope | None:
    """Return what the specs say of principals; None if nobody asks the cluster for it.

    Raises:
        NotReadyError: the embedded stack is not up.
    """
    from sluice.kafka.access import KafkaPythonAccess  # noqa: PLC0415 - Airflow parses DAG files again and again

    if not project.catalog.access or asks_nobody(project):
        return None
    cluster = KafkaPythonAccess(project.bootstrap(), project.kafka_client())
    return AccessScope(project.catalog, cluster, passwords_of(project))


def asks_nobody(project: Project) -> bool:
    """Whether principals are declared for an embedded cluster that lets everybody in."""
    embedded = project.deployment.kafka.kind == "embedded"
    return bool(project.catalog.access) and embedded and not is_secured(project.settings)
