"""Rules about who Sluice's own processes connect as."""

from __future__ import annotations

from collections.abc import Iterator

from sluice.specs.deployments.kafka import ADMINISTRATOR, EmbeddedKafka, ExternalKafka
from sluice.specs.model.access import PrincipalSpec, Role
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading


def logins_are_principals(reading: Reading) -> Iterator[Finding]:
    """Processes of a role connect as a principal of that role, which is declared in the deployment."""
    for name, deployment in reading.catalog.deployments.items():
        for role, principal in deployment.kafka.users.items():
            loc = ("kafka", "users", str(role))
            if (Kind.PRINCIPAL, principal) not in reading.documents:
                yield reading.finding(Kind.DEPLOYMENT, name, loc, *reading.absent(Kind.PRINCIPAL, principal))
            elif (spec := reading.catalog.access.get(principal)) is not None:
                for message, fix in (*_faults(spec, role, name), *_without_token(spec, deployment.kafka)):
                    yield reading.finding(Kind.DEPLOYMENT, name, loc, message, fix)


def _faults(spec: PrincipalSpec, role: Role, deployment: str) -> Iterator[tuple[str, str]]:
    if spec.role is not role:
        yield f"{spec.name!r} is a {spec.role}.", f"name a principal of the role {role}."
    if not spec.exists_in(deployment) or spec.state == "absent":
        yield f"{spec.name!r} is not declared for {deployment}.", "declare it there, or name another."


def _without_token(spec: PrincipalSpec, kafka: EmbeddedKafka | ExternalKafka) -> Iterator[tuple[str, str]]:
    if kafka.kind == "external" and kafka.login is not None and kafka.login.token is not None and spec.scram is None:
        yield f"{spec.name!r} has no password, and tokens are given to `login` alone.", "name one with `scram`."


def administrators_are_not_declared(reading: Reading) -> Iterator[Finding]:
    """The administrator of an embedded cluster is the user that Sluice itself connects as: no spec takes that away."""
    embedded = [name for name, spec in reading.catalog.deployments.items() if spec.kafka.kind == "embedded"]
    for name, spec in reading.catalog.access.items():
        places = [deployment for deployment in embedded if spec.exists_in(deployment)]
        if spec.user == ADMINISTRATOR and places:
            message = f"{spec.user!r} is the administrator of the embedded cluster of {', '.join(places)}."
            fix = "give the principal another user, or say `deployments` without these."
            yield reading.finding(Kind.PRINCIPAL, name, ("user",), message, fix)
