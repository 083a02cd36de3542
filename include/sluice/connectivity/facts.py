"""What was observed at the addresses of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address


class Contact(StrEnum):
    """How far one comes at an address."""

    UNRESOLVED = "the name does not resolve"
    REFUSED = "connection refused"
    TIMEOUT = "no answer to a connection"
    UNREACHABLE = "no way there"
    CLOSED = "closed without a word"
    SILENT = "accepted and silent"
    HTTP = "an HTTP server"
    ENCRYPTED = "TLS, and the client speaks none"
    UNENCRYPTED = "Kafka without TLS, and the client speaks TLS"
    UNTRUSTED = "a certificate that is not trusted"
    TLS_FAILED = "TLS that fails"
    FOREIGN = "another protocol"
    BROKEN_OFF = "Kafka answers, and ends the conversation"
    LOGIN_REFUSED = "the login is refused"
    KAFKA = "Kafka answers"


@dataclass(frozen=True)
class AdvertisedBroker:
    """A broker as the cluster's metadata names it."""

    node: int
    address: str


@dataclass(frozen=True)
class ClockReading:
    """The clock of the cluster's controller beside ours.

    Attributes:
        ahead_seconds: how far it is ahead of ours; negative: behind.
        error_seconds: how wrong that may be, because the question took time.
    """

    ahead_seconds: float
    error_seconds: float


@dataclass(frozen=True)
class Probe:
    """What was observed at one address, `host:port`.

    Attributes:
        contact: how far one came.
        detail: what was said or seen there, a clause; empty if the contact says it all.
        resolved: the IP addresses of its name, as text.
        reached: the one of them that took the connection; empty if none did.
        cluster: the cluster's id, as this broker says it.
        brokers: the brokers, as this one names them.
        clock: the controller's clock, if this broker gives it.
    """

    address: str
    contact: Contact
    detail: str = ""
    resolved: tuple[str, ...] = ()
    reached: str = ""
    cluster: str = ""
    brokers: tuple[AdvertisedBroker, ...] = ()
    clock: ClockReading | None = None

    @property
    def is_loopback(self) -> bool:
        """Whether its name stands for this machine only."""
        return bool(self.resolved) and all(map(_is_loopback, self.resolved))


@dataclass(frozen=True)
class ClusterFacts:
    """What was observed of a cluster.

    Attributes:
        bootstrap: the addresses of the deployment, in their order.
        advertised: the addresses that brokers name in their metadata.
    """

    bootstrap: tuple[Probe, ...]
    advertised: Mapping[str, Probe] = field(default_factory=dict)


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False
