"""Rules about principals: whom a file may name, what a scope may hold, and who Sluice itself connects as."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from sluice.specs.deployments.kafka import ADMINISTRATOR
from sluice.specs.model.access import PrincipalSpec, Role
from sluice.specs.model.outputs import TopicOutput
from sluice.specs.reading.diagnosis import nearest
from sluice.specs.reading.faults import Fault
from sluice.specs.reading.kinds import Key, Kind
from sluice.specs.reading.reading import Finding, Reading

_MEMBERS: Mapping[Role, str] = {
    Role.FEED: "feed",
    Role.STREAM: "unit",
    Role.BACKFILL: "pipeline",
    Role.WATCHER: "topic",
    Role.SERVER: "topic output",
}
"""What the scope of a role names."""


def principals_are_unique(reading: Reading) -> Iterator[Finding]:
    """No two files say what one user may do: each would take away what the other gives."""
    files: dict[str, list[PrincipalSpec]] = defaultdict(list)
    for spec in reading.catalog.access.values():
        files[spec.user].append(spec)
    for user, specs in files.items():
        for spec in specs:
            others = [other.name for other in specs if other is not spec and _meet(spec, other)]
            if others:
                message = f"the user {user!r} is also declared by {', '.join(others)}."
                fix = "give each role a user of its own, or name deployments that differ."
                yield reading.finding(Kind.PRINCIPAL, spec.name, ("user",), message, fix)


def scopes_exist(reading: Reading) -> Iterator[Finding]:
    """A scope names what is declared. A spec that is broken exists."""
    declared = {role: _declared(reading, role) for role in _MEMBERS}
    for name, spec in reading.catalog.access.items():
        for position, member in enumerate(spec.scope or ()):
            if member not in declared[spec.role]:
                message = f"a {spec.role} is there for {_MEMBERS[spec.role]}s, and there is no {member!r} among them."
                fix = nearest(member, sorted(declared[spec.role]))
                yield reading.finding(Kind.PRINCIPAL, name, ("scope", position), message, fix)


def principals_are_in_deployments(reading: Reading) -> Iterator[Finding]:
    """A principal is restricted to deployments that there are."""
    for name, spec in reading.catalog.access.items():
        for position, deployment in enumerate(spec.deployments or ()):
            if (Kind.DEPLOYMENT, deployment) not in reading.documents:
                absent = reading.absent(Kind.DEPLOYMENT, deployment)
                yield reading.finding(Kind.PRINCIPAL, name, ("deployments", position), *absent)


def nothing_widens_unseen(reading: Reading) -> Iterator[Finding]:
    """A flag that nothing needs would let through what a later change adds."""
    for name, spec in reading.catalog.access.items():
        for position, widening in enumerate(spec.widens):
            if widening not in spec.widenings:
                message = f"nothing here is open to every {widening}."
                yield reading.finding(Kind.PRINCIPAL, name, ("widens", position), message, "remove it.")


def undecided_principals(
    broken: Mapping[Key, tuple[Fault, ...]], strays: Iterable[Fault], principals: Iterable[Key]
) -> dict[Key, tuple[Fault, ...]]:
    """Return the principals whose needs are unknown, with the faults of the files that would say it.

    A topic or pipeline that is left out would look as if no principal needed it, and rights to it would be revoked.
    """
    telling = (Kind.TOPIC, Kind.PIPELINE, Kind.FEED)
    faults = {fault for key, own in broken.items() if key[0] in telling for fault in own}
    faults.update(fault for fault in strays if fault.file.split("/")[1:2] in [[kind.folder] for kind in telling])
    return {key: tuple(sorted(faults)) for key in principals if faults and key not in broken}


def _meet(one: PrincipalSpec, other: PrincipalSpec) -> bool:
    """Whether two files are about the same cluster."""
    return (
        one.deployments is None or other.deployments is None or not set(one.deployments).isdisjoint(other.deployments)
    )


def _declared(reading: Reading, role: Role) -> Collection[str]:
    match role:
        case Role.FEED:
            return reading.names(Kind.FEED)
        case Role.STREAM:
            return _drivers(reading)
        case Role.BACKFILL:
            closing = reading.catalog.interval_pipelines.keys()
            return set(reading.names(Kind.PIPELINE)) - (reading.catalog.pipelines.keys() - closing)
        case Role.SERVER:
            written = (p.written_topics for p in reading.catalog.pipelines.values())
            return {output.topic for outputs in written for output in outputs if isinstance(output, TopicOutput)}
        case _:
            return reading.names(Kind.TOPIC)


def _drivers(reading: Reading) -> set[str]:
    """Return the units that any file names, from their text: a broken one names one, too."""
    drivers: set[str] = set()
    for (kind, _), document in reading.documents.items():
        data = document.data or {}
        place = data.get("raw") if kind is Kind.TOPIC else data if kind is Kind.PIPELINE else None
        driver = place.get("driver") if isinstance(place, dict) else None
        if isinstance(driver, str):
            drivers.add(driver)
    return drivers


def logins_are_principals(reading: Reading) -> Iterator[Finding]:
    """Processes of a role connect as a principal of that role, which is declared in the deployment."""
    for name, deployment in reading.catalog.deployments.items():
        for role, principal in deployment.kafka.users.items():
            loc = ("kafka", "users", str(role))
            if (Kind.PRINCIPAL, principal) not in reading.documents:
                yield reading.finding(Kind.DEPLOYMENT, name, loc, *reading.absent(Kind.PRINCIPAL, principal))
            elif (spec := reading.catalog.access.get(principal)) is not None:
                for message, fix in _faults(spec, role, name):
                    yield reading.finding(Kind.DEPLOYMENT, name, loc, message, fix)


def _faults(spec: PrincipalSpec, role: Role, deployment: str) -> Iterator[tuple[str, str]]:
    if spec.role is not role:
        yield f"{spec.name!r} is a {spec.role}.", f"name a principal of the role {role}."
    if not spec.exists_in(deployment) or spec.state == "absent":
        yield f"{spec.name!r} is not declared for {deployment}.", "declare it there, or name another."


def logins_say_it_once(reading: Reading) -> Iterator[Finding]:
    """Where a deployment says who connects, its client says nothing else about that."""
    for name, deployment in reading.catalog.deployments.items():
        kafka = deployment.kafka
        if kafka.kind != "external" or not (kafka.login or kafka.users):
            continue
        for key in sorted(key for key in kafka.client if key.startswith("sasl.")):
            message = "`login` and `users` say who connects, and by what."
            yield reading.finding(Kind.DEPLOYMENT, name, ("kafka", "client", key), message, "remove it.")


def administrators_are_not_declared(reading: Reading) -> Iterator[Finding]:
    """The administrator of an embedded cluster is the user that Sluice itself connects as: no spec takes that away."""
    embedded = [name for name, spec in reading.catalog.deployments.items() if spec.kafka.kind == "embedded"]
    for name, spec in reading.catalog.access.items():
        places = [deployment for deployment in embedded if spec.exists_in(deployment)]
        if spec.user == ADMINISTRATOR and places:
            message = f"{spec.user!r} is the administrator of the embedded cluster of {', '.join(places)}."
            fix = "give the principal another user, or say `deployments` without these."
            yield reading.finding(Kind.PRINCIPAL, name, ("user",), message, fix)
