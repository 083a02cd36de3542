"""What docker-compose.yaml encrypts, and by which files its services know each other."""

from __future__ import annotations

import re

import yaml

from sluice.devstack.spark_authentication import AUTHENTICATE, ENCRYPT
from sluice.specs.load import load_catalog
from tests.unit.containers.compose_file import (
    BROKERS,
    COMPOSE_TEXT,
    METRICS,
    ROOT,
    SCRIPTS,
    SERVICES,
    environment,
    properties,
)

DEPLOYMENT = load_catalog(ROOT / "include").deployments["compose"]


def test_a_service_shows_its_own_certificate_and_no_others_key_is_there() -> None:
    shown = {
        name: {s for s in SERVICES[name].get("secrets", []) if s.startswith("tls_")} - {"tls_ca"} for name in SERVICES
    }
    assert {name: certificates for name, certificates in shown.items() if certificates} == {
        **{name: {"tls_kafka"} for name in BROKERS},
        "postgres": {"tls_postgres"},
        "spark-master": {"tls_spark"},
        "airflow-api": {"tls_airflow"},
        "runner": {"tls_runner"},
        "live": {"tls_live"},
        **{name: {"tls_metrics"} for name in METRICS},
    }
    trusting = {name for name, service in SERVICES.items() if "tls_ca" in service.get("secrets", [])}
    assert set(SERVICES) - trusting == {"postgres"}, "it connects to nobody"


def test_the_secret_of_spark_is_where_its_processes_are() -> None:
    holders = {name for name, service in SERVICES.items() if "spark" in service.get("secrets", [])}
    assert holders == {"runner", "spark-master", "spark-worker-1", "spark-worker-2"}
    for name in holders:
        assert environment(name)["SPARK_CONF_DIR"] == "/tmp/spark"  # noqa: S108 - the container's own
        assert SERVICES[name]["entrypoint"] == [f"containers/{'credentials' if name == 'runner' else 'spark'}.sh"]
    assert "spark.sh" in (SCRIPTS / "credentials.sh").read_text(encoding="utf-8")


def test_its_processes_encrypt_as_those_of_a_secured_stack() -> None:
    script = (SCRIPTS / "spark.sh").read_text(encoding="utf-8")
    for name, value in (AUTHENTICATE | ENCRYPT).items():
        assert f"{name} {value}" in script


def test_ports_of_spark_are_on_a_network_where_all_have_its_secret() -> None:
    on_network = {name: service["networks"] for name, service in SERVICES.items() if "spark" in service["networks"]}
    assert set(on_network) == {name for name, service in SERVICES.items() if "spark" in service.get("secrets", [])}
    names = {name: networks["spark"]["aliases"] for name, networks in on_network.items() if name != "spark-master"}
    assert names == {"runner": ["driver"], "spark-worker-1": ["worker-1"], "spark-worker-2": ["worker-2"]}
    assert on_network["spark-master"] == ["spark"]
    assert environment("runner")["SPARK_LOCAL_HOSTNAME"] == "driver"


def test_what_asks_nobody_who_they_are_answers_in_its_container_only() -> None:
    for name in ("spark-worker-1", "spark-worker-2"):
        command = SERVICES[name]["command"]
        assert environment(name)["SPARK_LOCAL_IP"] == "127.0.0.1"
        assert command[command.index("--host") + 1] == name.removeprefix("spark-")
    assert "--web.listen-address=127.0.0.1:9090" in (SCRIPTS / "prometheus.sh").read_text(encoding="utf-8")
    assert DEPLOYMENT.spark.settings["spark.ui.enabled"] == "false"
    assert "--web.config.file=containers/node_exporter.yaml" in SERVICES["node-exporter"]["command"]
    asked = yaml.safe_load((SCRIPTS / "node_exporter.yaml").read_text(encoding="utf-8"))["tls_server_config"]
    assert asked["client_auth_type"] == "RequireAndVerifyClientCert"


def test_every_address_is_one_that_encrypts() -> None:
    addresses = re.findall(r"\bhttp://[^\s\"]+", COMPOSE_TEXT)
    assert {address for address in addresses if not address.startswith("http://localhost:")} == set()
    kafka = properties("broker.properties")
    protocols = dict(pair.split(":") for pair in kafka["listener.security.protocol.map"].split(","))
    assert set(protocols.values()) == {"SASL_SSL"}
    assert (kafka["allow.everyone.if.no.acl.found"], kafka["super.users"]) == ("false", "User:admin")
    assert DEPLOYMENT.kafka.kind == "external"
    assert DEPLOYMENT.kafka.tls is not None
    assert DEPLOYMENT.kafka.login is not None
    assert DEPLOYMENT.kafka.login.user == "admin"
    assert all(page.startswith("https://spark-master:") for page in DEPLOYMENT.spark.pages)
    for name in ("migrate", "airflow-api", "airflow-dag-processor", "runner", "live"):
        assert environment(name)["PGSSLMODE"] == "verify-full"
    rules = re.findall(r"'((?:local|host)\w*) [^']*'", (SCRIPTS / "postgres.sh").read_text(encoding="utf-8"))
    assert rules == ["local", "hostssl"]


def test_the_files_that_the_deployment_names_are_mounted_where_it_is_used() -> None:
    text = (ROOT / "include" / "deployments" / "compose.yaml").read_text(encoding="utf-8")
    named = set(re.findall(r"/run/secrets/(\w+)", text))
    assert named == {"tls_ca", "tls_runner"}
    assert named <= set(SERVICES["runner"]["secrets"])
    variable = DEPLOYMENT.kafka.login.password_variable if DEPLOYMENT.kafka.kind == "external" else ""  # type: ignore[union-attr]
    assert environment("runner")[f"{variable}_FILE"] == "/run/secrets/kafka_admin"
    assert {name for name in SERVICES if "kafka_admin" in SERVICES[name].get("secrets", [])} == {"runner", *BROKERS}
