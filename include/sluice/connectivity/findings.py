"""What facts about a cluster's addresses mean: each fault with where it is and what to do. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sluice.connectivity.facts import ClockReading, ClusterFacts, Contact, Probe
from sluice.wording import listed

MAX_CLOCK_SECONDS = 5.0
"""By so much clocks may differ: the watch of a machine that is set by NTP differs by milliseconds."""


@dataclass(frozen=True)
class KafkaFinding:
    """One judgement.

    Attributes:
        where: an address of the deployment, `broker 2 (host:port)`, `cluster` or `clock`.
        ok: whether all is well there.
        found: what was found.
        fix: what to do; empty if all is well.
    """

    where: str
    ok: bool
    found: str
    fix: str = ""


_PORT = "see whether a broker listens there, and correct `kafka.bootstrap` of the deployment."
_WITHOUT_TLS = "remove security.protocol of `kafka.client` (or write SASL_PLAINTEXT), or name the port with TLS."
_FIXES: Mapping[Contact, str] = {
    Contact.UNRESOLVED: "correct the name in `kafka.bootstrap` of the deployment, or make it resolve on this machine.",
    Contact.REFUSED: f"nothing listens at that port: {_PORT}",
    Contact.TIMEOUT: "the host is down, or a firewall drops what is sent there: open the port for this machine.",
    Contact.UNREACHABLE: "see the network and the routes of this machine.",
    Contact.CLOSED: f"whatever listens there ends the connection: {_PORT}",
    Contact.SILENT: f"it takes connections and says nothing (a broker that starts, a proxy, another service): {_PORT}",
    Contact.HTTP: "name the port of Kafka's own protocol: this one is of a web server, a REST proxy or a registry.",
    Contact.ENCRYPTED: "write security.protocol: SSL (SASL_SSL with a login) in `kafka.client` of the deployment.",
    Contact.UNENCRYPTED: _WITHOUT_TLS,
    Contact.UNTRUSTED: "name the certificate of the authority by ssl.ca.location in `kafka.client`; where it is not "
    "valid yet or any more, renew it or set this machine's clock; where the name differs, use the name that it has.",
    Contact.TLS_FAILED: "see which versions of TLS it takes, and whether it wants a certificate of the client "
    "(ssl.keystore.location).",
    Contact.FOREIGN: f"another service listens there: {_PORT}",
    Contact.BROKEN_OFF: "see the broker's log; a mechanism without a password (OAUTHBEARER, GSSAPI) is not examined.",
    Contact.LOGIN_REFUSED: "correct the user, its password and its mechanism: `kafka.login` of the deployment, or "
    "`kafka.users` and the specs in include/access.",
}
_ADVERTISED = (
    Contact.UNRESOLVED,
    Contact.REFUSED,
    Contact.TIMEOUT,
    Contact.UNREACHABLE,
    Contact.CLOSED,
    Contact.SILENT,
    Contact.HTTP,
    Contact.FOREIGN,
)
"""Where the address is to blame; else what the client says is, as it would be at an address of the deployment."""


def diagnose(facts: ClusterFacts) -> tuple[KafkaFinding, ...]:
    """Return what was found at every address, then what is wrong between them. There is always at least one."""
    return (
        *(_at_bootstrap(probe) for probe in facts.bootstrap),
        *_brokers(facts),
        *_clusters(facts),
        *_clock(facts),
    )


def _at_bootstrap(probe: Probe) -> KafkaFinding:
    if probe.contact is not Contact.KAFKA:
        return KafkaFinding(probe.address, ok=False, found=_said(probe), fix=_FIXES[probe.contact])
    cluster = f", cluster {probe.cluster}" if probe.cluster else ""
    brokers = f", {len(probe.brokers)} broker{'' if len(probe.brokers) == 1 else 's'}" if probe.brokers else ""
    return KafkaFinding(probe.address, ok=True, found=f"{_said(probe)}{cluster}{brokers}")


def _said(probe: Probe) -> str:
    return f"{probe.contact}: {probe.detail}" if probe.detail else str(probe.contact)


def _brokers(facts: ClusterFacts) -> Iterator[KafkaFinding]:
    """Yield a finding for each broker that the cluster names, ordered by node and address."""
    naming: dict[tuple[int, str], list[Probe]] = defaultdict(list)
    nodes: dict[str, set[int]] = defaultdict(set)
    for probe in facts.bootstrap:
        for broker in probe.brokers:
            naming[broker.node, broker.address].append(probe)
            nodes[broker.address].add(broker.node)
    for (node, address), sources in sorted(naming.items()):
        others = sorted(nodes[address] - {node})
        yield _broker(node, address, facts.advertised.get(address), sources, others)


def _broker(node: int, address: str, probe: Probe | None, sources: list[Probe], others: list[int]) -> KafkaFinding:
    where = f"broker {node} ({address})"
    listener = f"advertised.listeners of broker {node}"
    if probe is None:
        return KafkaFinding(where, ok=False, found="it was not examined", fix="run the command again.")
    clusters = sorted({source.cluster for source in sources if source.cluster})
    elsewhere = probe.is_loopback and any(source.reached and not _local(source) for source in sources)
    if elsewhere and probe.cluster not in clusters:
        found = f"it tells clients to connect to {address}, which is this machine and not the broker's"
        return KafkaFinding(
            where, ok=False, found=found, fix=f"set {listener} to a name that clients elsewhere reach it by."
        )
    if probe.contact is not Contact.KAFKA:
        return KafkaFinding(
            where, ok=False, found=f"{_said(probe)} (it tells clients to connect there)", fix=_fix(probe, node)
        )
    if others:
        found = f"brokers {listed([node, *others])} tell clients the same address: what is sent to one reaches another"
        return KafkaFinding(where, ok=False, found=found, fix="give each broker an advertised listener of its own.")
    if probe.cluster and clusters and probe.cluster not in clusters:
        found = f"another cluster answers there: {probe.cluster}, and {sources[0].address} is of {clusters[0]}"
        return KafkaFinding(
            where, ok=False, found=found, fix=f"correct {listener}, or the name's address on this machine."
        )
    here = "; from this machine only, which the address stands for" if elsewhere else ""
    return KafkaFinding(where, ok=True, found=f"{_said(probe)}{here}")


def _local(probe: Probe) -> bool:
    return Probe("", Contact.KAFKA, resolved=(probe.reached,)).is_loopback


def _fix(probe: Probe, node: int) -> str:
    if probe.contact not in _ADVERTISED:
        return _FIXES[probe.contact]
    host = probe.address.rpartition(":")[0]
    reach = {
        Contact.UNRESOLVED: f"have {host} resolve on this machine",
        Contact.TIMEOUT: "open the way from this machine to it",
        Contact.UNREACHABLE: "open the way from this machine to it",
    }.get(probe.contact, "start what should listen there")
    return f"set advertised.listeners of broker {node} to an address that this machine reaches, or {reach}."


def _clusters(facts: ClusterFacts) -> Iterator[KafkaFinding]:
    """Yield a finding if the addresses of one deployment are of several clusters."""
    of: dict[str, list[str]] = defaultdict(list)
    for probe in facts.bootstrap:
        if probe.cluster:
            of[probe.cluster].append(probe.address)
    if len(of) > 1:
        found = "; ".join(f"{', '.join(addresses)}: cluster {cluster}" for cluster, addresses in sorted(of.items()))
        fix = "name addresses of one cluster in `kafka.bootstrap` of the deployment."
        yield KafkaFinding("cluster", ok=False, found=found, fix=fix)


def _clock(facts: ClusterFacts) -> Iterator[KafkaFinding]:
    """Yield what is known of the controller's clock, if any broker answers."""
    answering = [probe for probe in (*facts.bootstrap, *facts.advertised.values()) if probe.contact is Contact.KAFKA]
    if not answering:
        return
    readings = [probe.clock for probe in answering if probe.clock is not None]
    if not readings:
        found = "not compared: only a Kafka with KRaft, from 3.3 on, says the time, to users that may describe it"
        yield KafkaFinding("clock", ok=True, found=found)
        return
    yield _judged(min(readings, key=lambda reading: reading.error_seconds))


def _judged(reading: ClockReading) -> KafkaFinding:
    away = abs(reading.ahead_seconds)
    which = "ahead of" if reading.ahead_seconds > 0 else "behind"
    found = f"the controller's clock is {away:.1f} s {which} this machine's (± {reading.error_seconds:.1f} s)"
    if away - reading.error_seconds <= MAX_CLOCK_SECONDS:
        return KafkaFinding("clock", ok=True, found=found)
    fix = "set both clocks by NTP: windows close by timestamps, and a record from the future closes them too early."
    return KafkaFinding("clock", ok=False, found=found, fix=fix)
