"""Settings by which a deployment's processes reach Kafka: those that both clients, Python's and Java's, understand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sluice.specs.deployments.kafka import AS_PEM, JAVA_STORES, ExternalKafka
from sluice.specs.deployments.secrecy import is_secret
from sluice.specs.reading.diagnosis import nearest
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading

CLIENT_SETTINGS = (
    "client.id",
    "sasl.mechanism",
    "security.protocol",
    "ssl.ca.location",
    "ssl.endpoint.identification.algorithm",
    "ssl.keystore.location",
    "ssl.truststore.location",
)
"""The names, as Kafka's own clients or librdkafka spell them. `ssl.ca.location` and `ssl.truststore.location` mean the
same here: a file of certificates in PEM; `ssl.keystore.location` is a private key with its certificate in PEM."""

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_OWN_FILES = (
    "a client's own key and certificate are declared beside `client`.",
    "write `tls: {certificate: …, key: …}`.",
)
_PEM_ONLY = ("certificates and keys are in PEM here.", "remove it.")
_IN_TLS: Mapping[str, str] = {
    "ssl.ca.location": "`tls: {ca: …}`",
    "ssl.endpoint.identification.algorithm": "`tls: {verify_hostname: …}`",
    "ssl.keystore.location": "`tls: {certificate: …}`",
    "ssl.truststore.location": "`tls: {ca: …}`",
}
"""Settings of a client, and what says the same in a deployment."""
_ADVICE: Mapping[str, tuple[str, str]] = {
    "ssl.certificate.location": _OWN_FILES,
    "ssl.key.location": _OWN_FILES,
    "ssl.truststore.type": _PEM_ONLY,
    "ssl.keystore.type": _PEM_ONLY,
}


def clients_are_understood(reading: Reading) -> Iterator[Finding]:
    """What a deployment says of clients is understood by both of them, and means the same to both."""
    for name, deployment in reading.catalog.deployments.items():
        kafka = deployment.kafka
        if kafka.kind != "external":
            continue
        for key, value in kafka.client.items():
            if is_secret(key) or said_elsewhere(kafka, key):
                continue  # a fault of its own
            if refusal := _refusal(key, value, kafka.client):
                yield reading.finding(Kind.DEPLOYMENT, name, ("kafka", "client", key), *refusal)


def said_elsewhere(kafka: ExternalKafka, key: str) -> str:
    """Return which other keys of a deployment say what a client setting would, as a clause; empty if none does."""
    if kafka.tls is not None and (key.startswith("ssl.") or key == "security.protocol"):
        return "`tls` says how connections are encrypted, and `login` and `users` who connects"
    if (kafka.login or kafka.users) and key.startswith("sasl."):
        return "`login` and `users` say who connects, and by what"
    return ""


def settings_say_it_once(reading: Reading) -> Iterator[Finding]:
    """Where a deployment says how one connects and as whom, its client says nothing else about that."""
    for name, deployment in reading.catalog.deployments.items():
        kafka = deployment.kafka
        if kafka.kind != "external":
            continue
        for key in sorted(kafka.client):
            if said := said_elsewhere(kafka, key):
                fix = f"remove it; {counterpart} says it." if (counterpart := _IN_TLS.get(key)) else "remove it."
                yield reading.finding(Kind.DEPLOYMENT, name, ("kafka", "client", key), f"{said}.", fix)


def _refusal(key: str, value: str, client: Mapping[str, str]) -> tuple[str, str] | None:
    """Return what is wrong with a setting and what to do; None if nothing is."""
    if key in _ADVICE:
        return _ADVICE[key]
    if key not in CLIENT_SETTINGS:
        return "Sluice's clients do not know this setting.", nearest(key, CLIENT_SETTINGS)
    if key == "security.protocol" and value not in _PROTOCOLS:
        return f"found {value!r}; it must be one of {', '.join(_PROTOCOLS)}.", ""
    if key.endswith(".location") and value.lower().endswith(JAVA_STORES):
        return f"{value!r} looks like a store of Java's, and Python reads PEM only.", f"{AS_PEM}."
    if key == "ssl.truststore.location" and "ssl.ca.location" in client:
        return "ssl.ca.location says the same.", "keep one of the two."
    return None
