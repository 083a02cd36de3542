"""Client settings: what only one of the two clients understands is refused at its line."""

from __future__ import annotations

import pytest

from sluice.kafka.client.connection import client_arguments
from sluice.kafka.client.java_client import java_settings
from sluice.specs.rules.connections.client_settings import CLIENT_SETTINGS
from tests.unit.specs.bench import DEPLOYMENT_FILE, Bench
from tests.unit.specs.case import Case, assert_one_fault, words

OLD = "client.id: shop"


def case(setting: str, said: str) -> Case:
    key = setting.partition(":")[0]
    return OLD, setting, 6, f'kafka.client["{key}"]', said


@pytest.mark.parametrize(
    "case",
    [
        case("client.dns.lookup: use_all_dns_ips", "Sluice's clients do not know this setting."),
        case("ssl.ca.locations: /ca.pem", "Fix: did you mean 'ssl.ca.location'?"),
        case("ssl.certificate.location: /client.crt", "a client's own key and certificate are declared beside"),
        case("ssl.key.location: /client.key", "write `tls: {certificate: …, key: …}`"),
        case("ssl.truststore.type: JKS", "certificates and keys are in PEM here. Fix: remove it."),
        case("ssl.truststore.location: /ca.JKS", "'/ca.JKS' looks like a store of Java's, and Python reads PEM only."),
        case("ssl.keystore.location: /client.p12", "`openssl pkcs12 -in store.p12 -noenc`"),
        case("ssl.truststore.location: /a.pem\n    ssl.ca.location: /b.pem", "ssl.ca.location says the same."),
        case("security.protocol: TLS", "found 'TLS'; it must be one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL."),
    ],
    ids=words,
)
def test_a_setting_that_a_client_would_misread_is_refused(bench: Bench, case: Case) -> None:
    assert_one_fault(bench, DEPLOYMENT_FILE, case)


@pytest.mark.parametrize("name", CLIENT_SETTINGS)
def test_every_setting_that_is_allowed_is_understood_by_pythons_client(name: str) -> None:
    assert name == "ssl.endpoint.identification.algorithm" or client_arguments({name: "x"})


def test_java_reads_files_in_pem_by_a_class_that_sees_when_they_are_replaced() -> None:
    ours = {"ssl.engine.factory.class": "sluice.kafka.ReplacedFiles"}
    given = {"security.protocol": "SSL", "ssl.ca.location": "/ca.pem", "ssl.certificate.location": "/client.pem"}
    assert java_settings(given) == {**given, **ours}
    assert java_settings({"ssl.truststore.location": "/ca.pem", "ssl.keystore.location": "/client.pem"}) == {
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": "/client.pem",
        **ours,
    }


def test_what_both_clients_spell_alike_stays_as_it_is() -> None:
    given = {"client.id": "sluice", "sasl.jaas.config": "x", "ssl.endpoint.identification.algorithm": ""}
    assert java_settings(given) == given
