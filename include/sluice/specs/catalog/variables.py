"""Which variables of the starting process its specs name. Names only: no value is ever here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sluice.secrecy.secret_values import forms
from sluice.specs.catalog.catalog import Catalog, Unit
from sluice.specs.deployments.bucket_address import variables_of_bucket
from sluice.specs.deployments.deployment import DeploymentSpec
from sluice.specs.deployments.mirror import MirrorSpec
from sluice.specs.deployments.secrecy import connection_variable
from sluice.specs.model.access import Role
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import LatestOutput, SinkOutput

CLIENT_OF_POSTGRESQL = ("PGPASSFILE", "PGSERVICEFILE", "PGSSLMODE", "PGSSLROOTCERT", "PGSSLCERT", "PGSSLKEY")
"""What its own client reads beside the URL; none of them holds a password."""


@dataclass(frozen=True)
class Variables:
    """What a process is to find in its environment.

    Attributes:
        needed: without these it cannot work.
        secrets: passwords and connections; each may be given by a file or a command instead, see `sluice.secrecy`.
        known_otherwise: of these, the passwords that the embedded cluster keeps where no user sets them.
        beside: what is passed on if it is set.
    """

    needed: frozenset[str] = frozenset()
    secrets: frozenset[str] = frozenset()
    known_otherwise: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """All that is passed on."""
        return self.needed | self.beside | {form for name in self.secrets for form in forms(name)}


def variables_of_unit(catalog: Catalog, deployment: DeploymentSpec, unit: Unit) -> Variables:
    """Return what the driver of a unit needs: connections, how it logs in to Kafka, and what is declared."""
    pipelines = [catalog.pipelines[name] for name in unit.pipelines]
    connections = _connections(pipelines)
    passwords = _password_variables(catalog, deployment, Role.STREAM)
    return Variables(
        needed=declared(pipelines),
        secrets=connections | passwords,
        known_otherwise=passwords if deployment.kafka.kind == "embedded" else frozenset(),
        beside=frozenset(CLIENT_OF_POSTGRESQL if connections else ()) | variables_of_bucket(deployment.storage),
    )


def variables_of_batch(catalog: Catalog, deployment: DeploymentSpec, pipeline: PipelineSpec) -> Variables:
    """Return what a batch of a pipeline needs: the control database, and what it compares the raw table with, Kafka."""
    passwords = _password_variables(catalog, deployment, Role.BACKFILL)
    return Variables(
        needed=declared([pipeline]),
        secrets=passwords | _of_static_inputs(pipeline),
        beside=frozenset(CLIENT_OF_POSTGRESQL) | variables_of_bucket(deployment.storage),
    )


def variables_of_mirror(catalog: Catalog, mirror: MirrorSpec) -> Variables:
    """Return what the process of a mirror needs: how it logs in at both ends."""
    ends = [catalog.deployments[name] for name in (mirror.source, mirror.target)]
    passwords = {end.name: _password_variables(catalog, end, Role.PLANNER) for end in ends}
    embedded = [passwords[end.name] for end in ends if end.kafka.kind == "embedded"]
    return Variables(secrets=frozenset().union(*passwords.values()), known_otherwise=frozenset().union(*embedded))


def declared(pipelines: Iterable[PipelineSpec]) -> frozenset[str]:
    """Return what the specs of pipelines name under `resources.environment`."""
    return frozenset(name for pipeline in pipelines for name in pipeline.resources.environment)


def _connections(pipelines: Iterable[PipelineSpec]) -> frozenset[str]:
    pipelines = list(pipelines)
    outputs = {
        connection_variable(output.connection)
        for pipeline in pipelines
        for output in pipeline.every_output
        if isinstance(output, LatestOutput | SinkOutput) and output.connection is not None
    }
    return frozenset(outputs).union(*map(_of_static_inputs, pipelines))


def _of_static_inputs(pipeline: PipelineSpec) -> frozenset[str]:
    """Return the connections that a stream and a batch of a pipeline read tables from."""
    named = (static.connection for static in pipeline.static.values())
    return frozenset(connection_variable(connection) for connection in named if connection is not None)


def _password_variables(catalog: Catalog, deployment: DeploymentSpec, role: Role) -> frozenset[str]:
    """Return the variables of the passwords with which processes of a role connect to Kafka."""
    kafka = deployment.kafka
    login = kafka.login if kafka.kind == "external" else None
    tls = kafka.tls if kafka.kind == "external" else None
    principal = catalog.users.get(kafka.users.get(role, ""))
    secret = principal.scram if principal is not None else login
    named = (None if secret is None else secret.password_variable, None if tls is None else tls.key_password_variable)
    return frozenset(filter(None, named))
