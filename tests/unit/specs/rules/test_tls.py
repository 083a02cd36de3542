"""How a deployment's connections are encrypted and who issues tokens: said once, and so that both clients can."""

from __future__ import annotations

import pytest

from sluice.specs.deployments.kafka import ExternalKafka
from tests.unit.specs.bench import DEPLOYMENT_FILE, STREAM, STREAM_FILE, Bench
from tests.unit.specs.case import Case, assert_one_fault, words

DEPLOYMENT = """\
name: prod
kafka:
  kind: external
  bootstrap: ["kafka:9092"]
  client: {client.id: shop}
  tls:
    ca: /ca.pem
    certificate: /client.crt
    key: /client.key
    key_password_variable: SLUICE_PASSWORD_KEY
    verify_hostname: false
  login:
    user: sluice
    password_variable: SLUICE_PASSWORD_ALL
    mechanism: OAUTHBEARER
    token: {endpoint: "https://id.example.org/token", scope: kafka write, ca: /issuer.pem}
"""
CLIENT = "{client.id: shop}"
MECHANISM = "    mechanism: OAUTHBEARER\n"


@pytest.fixture
def encrypted(bench: Bench) -> Bench:
    bench.write(DEPLOYMENT_FILE, DEPLOYMENT)
    return bench


def test_every_key_is_sound_together(encrypted: Bench) -> None:
    scanned = encrypted.scan()
    assert scanned.faults == ()
    kafka = scanned.catalog.deployments["prod"].kafka
    assert isinstance(kafka, ExternalKafka)
    assert kafka.tls is not None
    assert kafka.tls.verify_hostname is False


def client(setting: str, said: str) -> Case:
    return CLIENT, f"{{{setting}}}", 5, f'kafka.client["{setting.partition(":")[0]}"]', said


@pytest.mark.parametrize(
    "case",
    [
        client("security.protocol: SASL_SSL", "`tls` says how connections are encrypted, and `login` and `users` who"),
        client("ssl.ca.location: /b.pem", "Fix: remove it; `tls: {ca: …}` says it."),
        client("ssl.truststore.location: /b.jks", "Fix: remove it; `tls: {ca: …}` says it."),
        client("ssl.keystore.location: /b.pem", "Fix: remove it; `tls: {certificate: …}` says it."),
        client('ssl.endpoint.identification.algorithm: ""', "Fix: remove it; `tls: {verify_hostname: …}` says it."),
        client("ssl.key.location: /b.pem", "`tls` says how connections are encrypted"),
        client("sasl.mechanism: PLAIN", "`login` and `users` say who connects, and by what. Fix: remove it."),
        ("/ca.pem", "ca.pem", 7, "kafka.tls.ca", "found 'ca.pem'; write the absolute path of a file in PEM"),
        ("/ca.pem", "/ca.p12", 7, "kafka.tls.ca", "'/ca.p12' looks like a store of Java's, and Python reads PEM only"),
        (
            "SLUICE_PASSWORD_KEY",
            "hunter2",
            10,
            "kafka.tls.key_password_variable",
            "the name of a variable, in capitals",
        ),
        ("false", "maybe", 11, "kafka.tls.verify_hostname", "'maybe'"),
        ("verify_hostname", "verify_hostnames", 11, "kafka.tls.verify_hostnames", "did you mean 'verify_hostname'?"),
        (MECHANISM, "", 15, "kafka.login.token", "the mechanism is SCRAM-SHA-512, which knows no tokens; write `mech"),
        ("https:", "http:", 16, "kafka.login.token.endpoint", "found 'http://id.example.org/token'; write its address"),
        ("org/token", "org/a,b", 16, "kafka.login.token.endpoint", "write its address, such as https://"),
        (", ca: /issuer.pem", ", ca: issuer.pem", 16, "kafka.login.token.ca", "write the absolute path of a file"),
    ],
    ids=words,
)
def test_what_is_said_twice_or_by_halves_is_refused(encrypted: Bench, case: Case) -> None:
    assert_one_fault(encrypted, DEPLOYMENT_FILE, case)


@pytest.mark.parametrize("key", ["key: /client.key", "key_password_variable: SLUICE_PASSWORD_KEY"])
def test_a_key_without_a_certificate_is_refused(encrypted: Bench, key: str) -> None:
    encrypted.write(DEPLOYMENT_FILE, f"{DEPLOYMENT.partition('  tls:')[0]}  tls:\n    {key}\n")
    (fault,) = encrypted.scan().faults
    assert fault.where == f"kafka.tls.{key.partition(':')[0]}"
    assert "a key is of no use without its certificate" in str(fault)


def test_oauth_without_an_issuer_is_refused(encrypted: Bench) -> None:
    encrypted.write(DEPLOYMENT_FILE, DEPLOYMENT.partition("    token:")[0])
    (fault,) = encrypted.scan().faults
    assert "OAUTHBEARER needs it; write `token: {endpoint: https://…}`" in str(fault)


def test_a_role_without_a_password_gets_no_token(encrypted: Bench) -> None:
    encrypted.write(STREAM_FILE, STREAM.partition("scram:")[0])
    encrypted.write(DEPLOYMENT_FILE, f"{DEPLOYMENT}  users: {{stream: stream}}\n")
    (fault,) = encrypted.scan().faults
    assert fault.where == "kafka.users.stream"
    assert "'stream' has no password, and tokens are given to `login` alone. Fix: name one with `scram`." in str(fault)
    encrypted.write(STREAM_FILE, STREAM)
    assert encrypted.scan().faults == ()


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:8080/token", "http://localhost/token", "http://[::1]:80/"])
def test_an_issuer_on_this_machine_needs_no_tls(encrypted: Bench, endpoint: str) -> None:
    encrypted.edit(DEPLOYMENT_FILE, "https://id.example.org/token", endpoint)
    assert encrypted.scan().faults == ()


def test_tls_by_the_authorities_of_the_machine_is_one_word(encrypted: Bench) -> None:
    encrypted.write(DEPLOYMENT_FILE, f"{DEPLOYMENT.partition('  tls:')[0]}  tls: {{}}\n")
    assert encrypted.scan().faults == ()
