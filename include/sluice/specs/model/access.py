"""Who may do what in Kafka: one principal per file, its role, and whatever goes beyond the role, written out.

What a role needs follows from the other specs (`sluice.provisioning.access.roles`): no user writes its ACLs
down. A password is never in here, only the name of the variable that holds it where the plan is applied.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from ipaddress import ip_address
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationInfo, field_validator

from sluice.specs.model.spec import VARIABLE_PATTERN, Name, Spec

ANYTHING = "*"
"""Kafka's word for every principal, every host and every resource of a kind."""

ANONYMOUS = "ANONYMOUS"
"""The user of a client that connects without authentication."""

_USER = re.compile(r"[A-Za-z0-9._@=,/+-][A-Za-z0-9._@=,/+ -]{0,199}")


class Role(StrEnum):
    """What a principal does, as a process of Sluice."""

    FEED = "feed"
    STREAM = "stream"
    BACKFILL = "backfill"
    PLANNER = "planner"
    WATCHER = "watcher"
    SERVER = "server"


class Duty(StrEnum):
    """A part of a planner's work. Each has rights of its own."""

    TOPICS = "topics"  # create, grow, configure
    SAMPLING = "sampling"  # read the newest records, to say what a change does to them
    REMOVAL = "removal"  # delete what is declared absent
    PLACEMENT = "placement"  # move replicas, also to have more or fewer, under a throttle, and elect leaders
    ACCESS = "access"  # what these specs say


class Widening(StrEnum):
    """How a right can be every user's, or about everything."""

    PRINCIPAL = "principal"
    HOST = "host"
    RESOURCE = "resource"


class ResourceKind(StrEnum):
    """What Kafka protects."""

    TOPIC = "topic"
    GROUP = "group"
    CLUSTER = "cluster"
    TRANSACTIONAL_ID = "transactional_id"
    DELEGATION_TOKEN = "delegation_token"  # noqa: S105 - no token, but its kind
    USER = "user"


class Pattern(StrEnum):
    """How a name stands for resources."""

    LITERAL = "literal"
    PREFIXED = "prefixed"


class Operation(StrEnum):
    """What Kafka lets a user do or not."""

    ALL = "all"
    READ = "read"
    WRITE = "write"
    CREATE = "create"
    DELETE = "delete"
    ALTER = "alter"
    DESCRIBE = "describe"
    CLUSTER_ACTION = "cluster_action"
    DESCRIBE_CONFIGS = "describe_configs"
    ALTER_CONFIGS = "alter_configs"
    IDEMPOTENT_WRITE = "idempotent_write"
    CREATE_TOKENS = "create_tokens"
    DESCRIBE_TOKENS = "describe_tokens"


_OF_CONFIGS = {Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS}
_OPERATIONS: Mapping[ResourceKind, set[Operation]] = {
    ResourceKind.TOPIC: {
        *(Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DELETE, Operation.ALTER, Operation.DESCRIBE),
        *_OF_CONFIGS,
    },
    ResourceKind.GROUP: {Operation.READ, Operation.DESCRIBE, Operation.DELETE, *_OF_CONFIGS},
    ResourceKind.CLUSTER: {
        *(Operation.CREATE, Operation.ALTER, Operation.DESCRIBE, Operation.CLUSTER_ACTION, Operation.IDEMPOTENT_WRITE),
        *_OF_CONFIGS,
    },
    ResourceKind.TRANSACTIONAL_ID: {Operation.WRITE, Operation.DESCRIBE},
}


class ExtraRight(Spec):
    """A right beyond the role's."""

    resource: Literal["topic", "group", "cluster", "transactional_id"]
    name: Annotated[str, StringConstraints(pattern=r"^(\*|[A-Za-z0-9._-]{1,249})$")] | None = Field(
        default=None, validate_default=True
    )
    """Of the cluster, of which there is one: omitted."""
    pattern: Pattern = Pattern.LITERAL
    """`prefixed`: of everything whose name begins so."""
    operation: Operation

    @field_validator("name")
    @classmethod
    def _names_the_resource(cls, name: str | None, info: ValidationInfo) -> str | None:
        kind = info.data.get("resource")
        if kind == ResourceKind.CLUSTER and name is not None:
            raise ValueError("there is one cluster; remove the name")
        if kind not in (None, ResourceKind.CLUSTER) and name is None:
            raise ValueError(f"say which {kind}")
        return name

    @field_validator("pattern")
    @classmethod
    def _begins_a_name(cls, pattern: Pattern, info: ValidationInfo) -> Pattern:
        if pattern is Pattern.PREFIXED and info.data.get("name", "") in (None, ANYTHING):
            raise ValueError("it begins no name; write the beginning of one, or leave the pattern out")
        return pattern

    @field_validator("operation")
    @classmethod
    def _exists(cls, operation: Operation, info: ValidationInfo) -> Operation:
        kind = info.data.get("resource")
        known = _OPERATIONS[ResourceKind(kind)] if kind else set(Operation)
        if operation not in known | {Operation.ALL}:
            raise ValueError(f"a {kind} has no such operation; it has {', '.join(sorted(known))} and all")
        return operation


class Mechanism(StrEnum):
    """How a client proves to know a password without sending it."""

    SHA_256 = "SCRAM-SHA-256"
    SHA_512 = "SCRAM-SHA-512"


class Scram(Spec):
    """A user that the cluster keeps itself, with a salted hash of the password."""

    password_variable: Annotated[str, StringConstraints(pattern=VARIABLE_PATTERN)]
    """The variable that holds the password where the plan is applied."""
    mechanism: Mechanism = Mechanism.SHA_512
    iterations: int = Field(default=8192, ge=4096, le=16384)
    """How often it is hashed. Another number sets the password again."""


class PrincipalSpec(Spec):
    """`include/access/<name>.yaml`."""

    name: Name
    description: str = ""
    widens: tuple[Widening, ...] = ()
    """What is opened to every user, on purpose: without it no `*` and no user ANONYMOUS passes. Such rights need
    approval, and the principal named."""
    user: str
    """The user, as Kafka knows it: of SCRAM, or what a certificate's subject is mapped to."""
    role: Role
    scope: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    """What it is there for: feeds of a feed, units of a stream, pipelines of a backfill, topics of a watcher. Omitted,
    and always for a planner: all that are declared."""
    duties: Annotated[tuple[Duty, ...], Field(min_length=1)] | None = None
    """Of a planner: what it plans. Omitted: topics."""
    hosts: tuple[str, ...] = Field(min_length=1)
    """The addresses that it connects from, as the broker sees them."""
    scram: Scram | None = None
    """Omitted: it proves who it is in another way, or its password is kept elsewhere."""
    extra: tuple[ExtraRight, ...] = ()
    deployments: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    """Where it exists. Omitted: everywhere."""
    state: Literal["present", "absent"] = "present"
    """`absent`: it has no rights and no password any more. A principal whose file is gone keeps what it has."""

    @field_validator("user")
    @classmethod
    def _is_somebody(cls, user: str, info: ValidationInfo) -> str:
        if user not in (ANYTHING, ANONYMOUS) and not _USER.fullmatch(user):
            raise ValueError(f"{user[:60]!r} is no user; write its name without `User:`")
        if user in (ANYTHING, ANONYMOUS):
            who = "everybody" if user == ANYTHING else "every client that does not log in"
            _ask_for(Widening.PRINCIPAL, f"{user} is {who}", info)
        return user

    @field_validator("scope")
    @classmethod
    def _is_no_planners(cls, scope: tuple[str, ...] | None, info: ValidationInfo) -> tuple[str, ...] | None:
        if scope is not None and info.data.get("role") is Role.PLANNER:
            raise ValueError("a plan is about all topics that are declared; remove the scope")
        return scope

    @field_validator("duties")
    @classmethod
    def _are_a_planners(cls, duties: tuple[Duty, ...] | None, info: ValidationInfo) -> tuple[Duty, ...] | None:
        role = info.data.get("role")
        if duties is not None and role not in (None, Role.PLANNER):
            raise ValueError(f"only a planner has duties; this is a {role}")
        return duties

    @field_validator("hosts")
    @classmethod
    def _are_addresses(cls, hosts: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        for host in hosts:
            if host != ANYTHING and not _is_address(host):
                raise ValueError(f"{host[:60]!r} is no address, and Kafka compares addresses; write them as numbers")
        if ANYTHING in hosts:
            _ask_for(Widening.HOST, "* is every host", info)
        return hosts

    @field_validator("scram")
    @classmethod
    def _has_somebody_to_log_in(cls, scram: Scram | None, info: ValidationInfo) -> Scram | None:
        if scram is not None and info.data.get("user") in (ANYTHING, ANONYMOUS):
            raise ValueError("nobody logs in as this user; remove the password")
        return scram

    @field_validator("extra")
    @classmethod
    def _names_something(cls, extra: tuple[ExtraRight, ...], info: ValidationInfo) -> tuple[ExtraRight, ...]:
        for right in extra:
            if right.name == ANYTHING:
                _ask_for(Widening.RESOURCE, f"* is every {right.resource}", info)
        return extra

    @property
    def principal(self) -> str:
        """The user as access control lists have it."""
        return f"User:{self.user}"

    @property
    def all_duties(self) -> tuple[Duty, ...]:
        """What a planner plans."""
        return self.duties or (Duty.TOPICS,)

    @property
    def widenings(self) -> frozenset[Widening]:
        """What is open to every user or about everything."""
        applies = {
            Widening.PRINCIPAL: self.user in (ANYTHING, ANONYMOUS),
            Widening.HOST: ANYTHING in self.hosts,
            Widening.RESOURCE: any(right.name == ANYTHING for right in self.extra),
        }
        return frozenset(widening for widening, there in applies.items() if there)

    def exists_in(self, deployment: str) -> bool:
        """Whether it is declared for a deployment."""
        return self.deployments is None or deployment in self.deployments


def _ask_for(widening: Widening, what: str, info: ValidationInfo) -> None:
    if widening not in info.data.get("widens", (widening,)):  # a list that is wrong has a fault of its own
        raise ValueError(f"{what}; name it, or add {widening} to `widens` if it has to be")


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
