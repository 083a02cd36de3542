"""Rules about who Sluice's own processes connect as, and how a service wants them to.

What the specs of topics and access declare and a service does not do is no fault: the same specs are for other
deployments, too. The plan of this one lists it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from sluice.contracts.breach import Loc
from sluice.specs.deployments.kafka import ADMINISTRATOR, EmbeddedKafka, ExternalKafka
from sluice.specs.deployments.services import KafkaService
from sluice.specs.model.access import PrincipalSpec, Role
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading

_ENCRYPTED = ("SSL", "SASL_SSL")

_Faults: TypeAlias = Iterator[tuple[Loc, str, str]]
"""Where, what is wrong, what to do."""


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


def services_are_reached_as_they_ask(reading: Reading) -> Iterator[Finding]:
    """A deployment at a service connects as that asks, and declares the replicas that it keeps."""
    for name, deployment in reading.catalog.deployments.items():
        kafka = deployment.kafka
        if kafka.kind != "external":
            continue
        for loc, message, fix in (*_addresses(kafka), *_login(kafka), *_users(reading, kafka)):
            yield reading.finding(Kind.DEPLOYMENT, name, ("kafka", *loc), message, fix)
        replicas = kafka.service.replication
        if replicas is not None and deployment.replication != replicas:
            message = f"it is {deployment.replication}, and {kafka.service.title} keeps {replicas} of every topic."
            yield reading.finding(Kind.DEPLOYMENT, name, ("replication",), message, f"write replication: {replicas}.")


def _addresses(kafka: ExternalKafka) -> _Faults:
    service = kafka.service
    for number, address in enumerate(kafka.bootstrap):
        if service.port is not None and address.rpartition(":")[2] != str(service.port):
            message = f"found {address!r}, and {service.title} serves Kafka's protocol at port {service.port}."
            yield ("bootstrap", number), message, f"write {address.rpartition(':')[0]}:{service.port}."
    protocol = kafka.client.get("security.protocol")
    if "security.protocol" in service.client and protocol is not None and protocol not in _ENCRYPTED:
        message = f"found {protocol!r}, and {service.title} takes encrypted connections only."
        yield ("client", "security.protocol"), message, "remove it: the profile sets SASL_SSL."


def _login(kafka: ExternalKafka) -> _Faults:
    service = kafka.service
    if service.mechanism is None:
        return
    if kafka.login is None:
        yield ("profile",), f"{service.title} lets nobody in without a login.", _login_fix(service)
        return
    if kafka.login.mechanism != service.mechanism:
        message = f"it is {kafka.login.mechanism}, and of Sluice's {service.title} takes {service.mechanism} only."
        yield ("login", "mechanism"), message, f"write mechanism: {service.mechanism}."
    if service.user is not None and kafka.login.user != service.user:
        message = f"found {kafka.login.user!r}; the user of {service.title} is always {service.user!r}."
        yield ("login", "user"), message, f"write user: {service.user}; its password is the connection string."


def _login_fix(service: KafkaService) -> str:
    user = service.user or "<API key>"
    return f"add login: {{user: {user}, password_variable: …, mechanism: {service.mechanism}}}."


def _users(reading: Reading, kafka: ExternalKafka) -> _Faults:
    passwords = kafka.service.passwords
    for role, principal in kafka.users.items() if passwords is not None else ():
        spec = reading.catalog.access.get(principal)
        if passwords is not None and spec is not None and spec.scram is not None:
            message = f"{principal!r} logs in by {spec.scram.mechanism}, and {passwords.why}."
            yield ("users", str(role)), message, f"remove it; {passwords.fix}."
