"""One entry of Kafka's access control lists, and what it means beyond itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

from sluice.specs.model.access import ANONYMOUS, ANYTHING, Operation, Pattern, ResourceKind, Widening

THE_CLUSTER = "kafka-cluster"
"""Kafka's name of the one resource of its kind."""

_IMPLIED_BY: Mapping[Operation, frozenset[Operation]] = {
    Operation.DESCRIBE: frozenset({Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}),
    Operation.DESCRIBE_CONFIGS: frozenset({Operation.ALTER_CONFIGS}),
}


@dataclass(frozen=True, order=True)
class Resource:
    """What a right is about: one resource, or several by a pattern.

    Attributes:
        kind: what it is.
        name: its name, the beginning of names, or `*`.
        pattern: which of these.
    """

    kind: ResourceKind
    name: str
    pattern: Pattern = Pattern.LITERAL

    def __str__(self) -> str:
        """Return it as a noun."""
        if self.kind is ResourceKind.CLUSTER:
            return "the cluster"
        if self.pattern is Pattern.PREFIXED:
            return f"every {self.kind} that begins with {self.name}"
        return f"every {self.kind}" if self.name == ANYTHING else f"{self.kind} {self.name}"


CLUSTER = Resource(ResourceKind.CLUSTER, THE_CLUSTER)


@dataclass(frozen=True, order=True)
class Right:
    """An operation on a resource."""

    resource: Resource
    operation: Operation


@dataclass(frozen=True, order=True)
class Acl:
    """A right that a principal has, or is denied, from a host.

    Attributes:
        principal: `User:` and a name.
        host: an address as Java writes it, or `*`.
        denied: whether it denies the right, whatever else is allowed.
    """

    principal: str
    right: Right
    host: str
    denied: bool = False

    def __str__(self) -> str:
        """Return what may be done from where."""
        host = "any host" if self.host == ANYTHING else self.host
        return f"{self.right.operation} {self.right.resource} from {host}"

    @property
    def widenings(self) -> tuple[Widening, ...]:
        """How it is open to all principals, to all hosts, or about all resources; in order."""
        open_to = {
            Widening.PRINCIPAL: self.principal in (f"User:{ANYTHING}", f"User:{ANONYMOUS}"),
            Widening.HOST: self.host == ANYTHING,
            Widening.RESOURCE: self.right.resource.name == ANYTHING,
        }
        return tuple(widening for widening, there in open_to.items() if there)


def least(rights: Iterable[Right]) -> frozenset[Right]:
    """Return those rights that no other one implies: to read, write, delete or alter includes to describe."""
    wanted = frozenset(rights)
    return frozenset(
        right
        for right in wanted
        if not any(Right(right.resource, above) in wanted for above in _IMPLIED_BY.get(right.operation, ()))
    )


def kafka_address(host: str) -> str:
    """Return an address as the broker compares it: Java leaves no group of IPv6 out, and writes no leading zero."""
    if host == ANYTHING:
        return host
    address = ip_address(host)
    if isinstance(address, IPv6Address):
        return ":".join(f"{int(group, 16):x}" for group in address.exploded.split(":"))
    return str(address)
