"""Settings by which a deployment's processes reach Kafka: those that both clients, Python's and Java's, understand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
_JAVA_STORES = (".jks", ".p12", ".pfx", ".keystore", ".truststore")
_ONE_FILE = (
    "Java reads a client's key and its certificate from one file.",
    "put both into one file in PEM, the key (PKCS #8) first, and name it by ssl.keystore.location.",
)
_PEM_ONLY = ("certificates and keys are in PEM here.", "remove it.")
_ADVICE: Mapping[str, tuple[str, str]] = {
    "ssl.certificate.location": _ONE_FILE,
    "ssl.key.location": _ONE_FILE,
    "ssl.truststore.type": _PEM_ONLY,
    "ssl.keystore.type": _PEM_ONLY,
}


def clients_are_understood(reading: Reading) -> Iterator[Finding]:
    """What a deployment says of clients is understood by both of them, and means the same to both."""
    for name, deployment in reading.catalog.deployments.items():
        kafka = deployment.kafka
        if kafka.kind != "external":
            continue
        elsewhere = "sasl." if kafka.login or kafka.users else None
        for key, value in kafka.client.items():
            if is_secret(key) or (elsewhere and key.startswith(elsewhere)):
                continue  # a fault of its own
            if refusal := _refusal(key, value, kafka.client):
                yield reading.finding(Kind.DEPLOYMENT, name, ("kafka", "client", key), *refusal)


def _refusal(key: str, value: str, client: Mapping[str, str]) -> tuple[str, str] | None:
    """Return what is wrong with a setting and what to do; None if nothing is."""
    if key in _ADVICE:
        return _ADVICE[key]
    if key not in CLIENT_SETTINGS:
        return "Sluice's clients do not know this setting.", nearest(key, CLIENT_SETTINGS)
    if key == "security.protocol" and value not in _PROTOCOLS:
        return f"found {value!r}; it must be one of {', '.join(_PROTOCOLS)}.", ""
    if key.endswith(".location") and value.lower().endswith(_JAVA_STORES):
        fix = "write its content in PEM (`openssl pkcs12 -in store.p12 -noenc`), and name that file."
        return f"{value!r} looks like a store of Java's, and Python reads PEM only.", fix
    if key == "ssl.truststore.location" and "ssl.ca.location" in client:
        return "ssl.ca.location says the same.", "keep one of the two."
    return None
