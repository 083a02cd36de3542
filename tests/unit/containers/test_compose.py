"""The rules that docker-compose.yaml keeps, and where it must agree with other files."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from typing import Any

import pytest
import yaml

from sluice.settings import PACKAGE
from sluice.specs.load import load_catalog
from sluice.specs.model.resources import Resources
from tests.unit.containers.compose_file import (
    BROKERS,
    COMPOSE,
    COMPOSE_TEXT,
    METRICS,
    ROOT,
    SCRIPTS,
    SERVICES,
    environment,
    is_one_shot,
    properties,
    seconds,
)

every_service = pytest.mark.parametrize("name", SERVICES)
DEPLOYMENT = load_catalog(ROOT / "include").deployments["compose"]


def _mounts(name: str) -> dict[str, str]:
    """Return volume name → mount point."""
    return dict(mount.split(":")[:2] for mount in SERVICES[name].get("volumes", []) if mount[0] != "/")


def test_the_whole_system_is_there() -> None:
    assert len(BROKERS) == 3
    assert {
        "postgres",
        "spark-master",
        "spark-worker-1",
        "spark-worker-2",
        "migrate",
        "airflow-api",
        "airflow-dag-processor",
        "runner",
        "live",
        *METRICS,
    } == set(SERVICES) - set(BROKERS)
    commands = " ".join(" ".join(s.get("command", [])) for s in SERVICES.values())
    runner = (SCRIPTS / "runner.conf").read_text(encoding="utf-8")
    for component in ("airflow api-server", "airflow dag-processor", "airflow scheduler", "airflow triggerer"):
        assert component in commands + runner


# What a container may do


@every_service
def test_a_container_has_no_rights_that_it_does_not_need(name: str) -> None:
    service = SERVICES[name]

    assert service["cap_drop"] == ["ALL"]
    assert service["read_only"] is True
    assert "no-new-privileges:true" in service["security_opt"]
    assert not {"privileged", "cap_add", "devices", "network_mode", "pid", "ipc", "userns_mode", "user"} & set(service)
    of_machine = [mount for mount in service.get("volumes", []) if mount.startswith(("/", ".", "~"))]
    assert of_machine == (["/proc/1/net:/host/proc/net:ro"] if name == "node-exporter" else [])


def test_what_only_reads_a_volume_cannot_write_it() -> None:
    volumes = {(name, mount) for name in SERVICES for mount in SERVICES[name].get("volumes", []) if mount[0] != "/"}
    read = {(name, mount) for name, mount in volumes if mount.endswith(":ro")}
    of_exporter = {("node-exporter", f"{volume}:/volumes/{volume}:ro") for volume in (*BROKERS, "postgres", "data")}
    assert read == {("airflow-api", "data:/data:ro")} | of_exporter


@every_service
def test_a_container_has_limits_and_ends_when_it_is_asked_to(name: str) -> None:
    service = SERVICES[name]

    assert re.fullmatch(r"[1-9][0-9]*[mg]", service["mem_limit"])
    assert service["pids_limit"] > 0
    assert service["init"] is True
    assert service["logging"]["options"].keys() == {"max-size", "max-file"}


@every_service
def test_native_libraries_can_be_loaded_from_the_temporary_folder(name: str) -> None:
    [(path, options)] = [mount.split(":") for mount in SERVICES[name]["tmpfs"]]

    assert path == "/tmp"  # noqa: S108 - the container's own
    assert {"exec", "mode=1777", "nosuid", "nodev"} <= set(options.split(","))
    assert [option for option in options.split(",") if option.startswith("size=")]


@every_service
def test_a_port_is_open_on_loopback_only(name: str) -> None:
    for port in SERVICES[name].get("ports", []):
        assert port.startswith("127.0.0.1:"), port


def test_only_what_asks_for_a_login_is_reachable_from_outside() -> None:
    asking = {"airflow-api", "live"}
    assert {name for name, service in SERVICES.items() if service.get("ports")} == asking
    assert "--without-login" not in SERVICES["live"]["command"]
    assert COMPOSE["networks"] == {"inside": {"internal": True}, "spark": {"internal": True}, "published": {}}
    for name in asking:
        assert SERVICES[name]["networks"] == ["inside", "published"]
    of_spark = {name for name, service in SERVICES.items() if "spark" in service["networks"]}
    assert {tuple(s["networks"]) for name, s in SERVICES.items() if name not in asking | of_spark} == {("inside",)}


def test_live_values_are_served_only_where_somebody_wants_that() -> None:
    assert SERVICES["live"]["profiles"] == ["live"]


# Images


@every_service
def test_an_image_is_built_here_and_tagged_with_the_projects_version(name: str) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    target = SERVICES[name]["build"]["target"]

    expected = {"sluice": f"sluice:{version}"} | {
        target: f"sluice-{target}:{version}" for target in ("postgres", "metrics")
    }
    assert SERVICES[name]["image"] == expected[target]
    assert SERVICES[name]["build"]["dockerfile"] == "containers/Dockerfile"


# Health and order


@every_service
def test_a_service_says_whether_it_does_its_work_or_ends(name: str) -> None:
    service = SERVICES[name]

    assert ("healthcheck" in service) != is_one_shot(service)
    if "healthcheck" in service:
        assert service["healthcheck"]["test"][0] == "CMD"
        assert service["restart"] == "unless-stopped"


@every_service
def test_a_dependency_is_waited_for_until_it_is_of_use(name: str) -> None:
    for other, wait in SERVICES[name].get("depends_on", {}).items():
        expected = "service_completed_successfully" if is_one_shot(SERVICES[other]) else "service_healthy"
        assert wait == {"condition": expected}, other


def test_whatever_uses_a_database_starts_after_its_migration() -> None:
    users = [name for name in SERVICES if "postgres_airflow" in SERVICES[name].get("secrets", [])]

    assert set(users) == {"postgres", "migrate", "airflow-api", "airflow-dag-processor", "runner", "live"}
    assert "postgres" in SERVICES["migrate"]["depends_on"]
    assert all("migrate" in SERVICES[name]["depends_on"] for name in set(users) - {"postgres", "migrate"})


def test_a_driver_has_time_to_finish_its_batch_when_the_runner_stops() -> None:
    runner = configparser.ConfigParser()
    runner.read(SCRIPTS / "runner.conf", encoding="utf-8")
    priorities = {section: int(runner[section]["priority"]) for section in runner if section.startswith("program:")}
    waits = {section: int(runner[section]["stopwaitsecs"]) for section in priorities}
    text = (SCRIPTS / "drain.py").read_text(encoding="utf-8")
    deadline = float(re.search(r"^_DEADLINE_SECONDS = ([0-9.]+)$", text, re.MULTILINE).group(1))  # type: ignore[union-attr]

    assert priorities.pop("program:drain") < min(priorities.values())
    assert deadline < waits["program:drain"]
    assert waits["program:drain"] < seconds(SERVICES["runner"]["stop_grace_period"])


# Secrets


@every_service
def test_no_secret_is_in_an_environment_or_a_command(name: str) -> None:
    service = SERVICES[name]
    for key, value in environment(name).items():
        if key == "AIRFLOW__API__SSL_KEY":  # the path of a file
            assert value.rpartition("/")[2] in service["secrets"]
        elif re.search(r"SECRET(?!S__BACKEND)|_KEY|TOKEN", key):
            assert key.endswith("_CMD")
            assert re.fullmatch(r"cat /run/secrets/[a-z_]+", value)
            assert value.rpartition("/")[2] in service["secrets"]
        assert not re.search(r"://[^/@]*:[^/@]*@", value), f"{key} holds a password"
    words = " ".join(service.get("command", [])).replace("/run/secrets/tls_live", "")  # the path of a file
    assert not re.search(r"password|secret", words, re.IGNORECASE)


def test_every_secret_is_a_file_that_somebody_uses() -> None:
    used = {secret for service in SERVICES.values() for secret in service.get("secrets", [])}

    assert used == set(COMPOSE["secrets"])
    assert all(s == {"file": f"containers/secrets/{name}"} for name, s in COMPOSE["secrets"].items())


def test_only_the_services_of_airflow_hold_its_secrets() -> None:
    holders = {name for name in SERVICES if "airflow_fernet_key" in SERVICES[name].get("secrets", [])}

    assert holders == {"migrate", "airflow-api", "airflow-dag-processor", "runner", "live"}
    of_brokers = {"kafka_cluster_id", "kafka_admin", "kafka_metrics", "tls_kafka", "tls_ca"}
    assert all(set(service["secrets"]) == of_brokers for service in BROKERS.values())


def test_a_service_has_only_the_passwords_of_the_roles_that_it_connects_as() -> None:
    of_airflow = {"postgres_airflow", "postgres_sluice"}
    held = {
        name: {secret for secret in service.get("secrets", []) if secret.startswith("postgres_")}
        for name, service in SERVICES.items()
    }
    assert held.pop("postgres") == {*of_airflow, "postgres_serving_writer", "postgres_serving_reader"}
    assert held.pop("runner") == {*of_airflow, "postgres_serving_writer"}
    assert held.pop("live") == {"postgres_airflow", "postgres_serving_reader"}
    assert {name: secrets for name, secrets in held.items() if secrets} == dict.fromkeys(
        ("migrate", "airflow-api", "airflow-dag-processor"), of_airflow
    )
    roles = {name: environment(name).get("SLUICE_CONNECTION_SERVING", "") for name in SERVICES}
    assert {name: url for name, url in roles.items() if url} == {
        "runner": "postgresql+psycopg://serving_writer@postgres:5432/serving",
        "live": "postgresql+psycopg://serving_reader@postgres:5432/serving",
    }


def test_airflow_asks_for_a_login() -> None:
    found = environment("airflow-api")

    assert "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS" not in found
    assert found["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS"] == "admin:ADMIN,metrics:VIEWER"


# Agreement with the deployment spec and with the brokers' own configuration


def test_the_deployment_spec_names_the_brokers_of_the_file() -> None:
    assert DEPLOYMENT.kafka.kind == "external"
    assert DEPLOYMENT.kafka.bootstrap == tuple(f"{name}:9092" for name in BROKERS)


def test_the_deployment_spec_names_the_master_that_drivers_and_workers_use() -> None:
    master = SERVICES["spark-master"]["command"]
    address = f"spark://{master[master.index('--host') + 1]}:{master[master.index('--port') + 1]}"

    assert DEPLOYMENT.spark.master == address
    assert json.loads(environment("runner")["AIRFLOW_CONN_SPARK_DEFAULT"])["host"] == address
    assert {SERVICES[f"spark-worker-{n}"]["command"][-1] for n in (1, 2)} == {address}
    assert address.startswith("spark://spark-master:")


def test_state_is_in_the_deployments_storage_and_drivers_and_executors_share_it() -> None:
    assert environment("runner")["SLUICE_STATE"] == DEPLOYMENT.storage
    assert environment("runner")["SLUICE_DEPLOYMENT"] == DEPLOYMENT.name
    for name in ("runner", "spark-worker-1", "spark-worker-2"):
        assert "data:/data" in SERVICES[name]["volumes"]
        assert _mounts(name)["data"] == DEPLOYMENT.storage


def test_a_master_that_is_started_again_finds_what_it_knew_in_the_deployments_storage() -> None:
    options = dict(option[2:].split("=") for option in environment("spark-master")["SPARK_MASTER_OPTS"].split())

    assert options["spark.deploy.recoveryMode"] == "FILESYSTEM"
    assert _mounts("spark-master")["data"] == DEPLOYMENT.storage
    assert options["spark.deploy.recoveryDirectory"].startswith(f"{DEPLOYMENT.storage}/")
    assert options["spark.master.rest.enabled"] == "false"


def test_every_volume_is_declared_and_used() -> None:
    used = {volume for name in SERVICES for volume in _mounts(name)}

    assert used == set(COMPOSE["volumes"])


def test_each_broker_has_its_own_number_rack_name_and_folder() -> None:
    given = [(name, *service["command"][1:], *_mounts(name)) for name, service in BROKERS.items()]

    assert given == [(f"kafka-{n}", str(n), f"rack-{n}", f"kafka-{n}", f"kafka-{n}") for n in (1, 2, 3)]
    assert properties("broker.properties")["log.dirs"].startswith("/var/lib/kafka/")
    assert {mount for name in BROKERS for mount in _mounts(name).values()} == {"/var/lib/kafka"}


def test_the_quorum_is_the_three_brokers() -> None:
    voters = properties("broker.properties")["controller.quorum.voters"].split(",")

    assert voters == [f"{service['command'][1]}@{name}:9093" for name, service in BROKERS.items()]


def test_one_broker_may_be_lost_without_losing_a_record_or_a_write() -> None:
    kafka = properties("broker.properties")

    assert int(kafka["default.replication.factor"]) == DEPLOYMENT.replication == len(BROKERS)
    assert kafka["min.insync.replicas"] == "2"
    for internal in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic"):
        assert kafka[f"{internal}.replication.factor"] == "3"
    assert kafka["transaction.state.log.min.isr"] == kafka["share.coordinator.state.topic.min.isr"] == "2"
    assert kafka["auto.create.topics.enable"] == "false"


def test_an_executor_fits_into_its_worker_and_the_worker_into_its_container() -> None:
    command = SERVICES["spark-worker-1"]["command"]
    worker = _megabytes(command[command.index("--memory") + 1])
    daemon = _megabytes(environment("spark-worker-1")["SPARK_DAEMON_MEMORY"])

    assert worker >= Resources().executor_mb
    assert worker + daemon < _megabytes(SERVICES["spark-worker-1"]["mem_limit"])


# Metrics


def test_who_collects_metrics_is_started_only_where_somebody_wants_that() -> None:
    assert {name for name, service in SERVICES.items() if service.get("profiles") == ["metrics"]} == METRICS
    waited_for = {other for service in SERVICES.values() for other in service.get("depends_on", {})}
    assert not waited_for & METRICS


def test_prometheus_scrapes_what_there_is_at_the_ports_where_it_is() -> None:
    shipped = yaml.safe_load((PACKAGE / "observability" / "prometheus.yaml").read_text(encoding="utf-8"))
    jobs = {job["job_name"]: job for job in shipped["scrape_configs"]}
    targets = {name: job["static_configs"][0]["targets"] for name, job in jobs.items()}
    (agent,) = re.findall(r"-javaagent:.*=(\d+):", (SCRIPTS / "broker.sh").read_text(encoding="utf-8"))
    assert targets["kafka"] == [f"{name}:{agent}" for name in BROKERS]
    assert targets["sluice"] == ["airflow-api:8080"]
    assert targets["node"] == ["node-exporter:9100"]
    started = (SCRIPTS / "prometheus.sh").read_text(encoding="utf-8")
    assert "/../observability/prometheus.yaml" in started
    token = jobs["sluice"]["authorization"]["credentials_file"]
    linked = re.findall(r"ln -s (\S+) (\S+)", (ROOT / "containers" / "Dockerfile").read_text(encoding="utf-8"))
    assert [(there, here) for there, here in linked if there in started] == [("/tmp/sluice.token", token)]  # noqa: S108


def test_whoever_scrapes_may_only_read() -> None:
    said = environment("airflow-api")["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS"]
    users = dict(user.split(":") for user in said.split(","))
    assert users == {"admin": "ADMIN", "metrics": "VIEWER"}
    assert set(SERVICES["prometheus"]["secrets"]) == {"airflow_metrics", "kafka_metrics", "tls_metrics", "tls_ca"}


def test_every_disk_of_a_broker_is_measured_and_none_is_written_to() -> None:
    mounts = [mount for mount in SERVICES["node-exporter"]["volumes"] if mount[0] != "/"]
    assert {*BROKERS, "data", "postgres"} == {mount.split(":")[0] for mount in mounts}
    assert all(re.fullmatch(r"([a-z0-9-]+):/volumes/\1:ro", mount) for mount in mounts)
    rules = (PACKAGE / "observability" / "rules.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r'mountpoint=~"([^"]+)"', rules)) == {"/volumes/.*"}


# Settings of the person who starts it


def test_the_example_environment_holds_what_the_file_reads_with_the_same_defaults() -> None:
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    example = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))

    assert dict(re.findall(r"\$\{(\w+):-([^}]*)\}", COMPOSE_TEXT)) == example
    assert not re.search(r"\$\{\w+\}", COMPOSE_TEXT), "a variable without a default stops a fresh clone"


def test_yaml_merges_lose_noenvironment() -> None:
    for name in ("airflow-api", "airflow-dag-processor", "migrate"):
        own = {"AIRFLOW__API__SSL_CERT", "AIRFLOW__API__SSL_KEY"} if name == "airflow-api" else set()
        common = {key: value for key, value in environment(name).items() if key not in own}
        assert common.items() <= environment("runner").items()


def test_the_file_is_one_document_without_repeated_keys() -> None:
    def keys(node: yaml.Node | None) -> None:
        if isinstance(node, yaml.MappingNode):
            names = [key.value for key, _ in node.value]
            assert len(names) == len(set(names)), f"repeated below line {node.start_mark.line + 1}: {names}"
        children: list[Any] = node.value if isinstance(node, yaml.CollectionNode) else []
        for child in children:
            for part in child if isinstance(child, tuple) else (child,):
                keys(part)

    keys(yaml.compose(COMPOSE_TEXT))


def _megabytes(size: str) -> int:
    return int(size[:-1]) * {"m": 1, "g": 1024}[size[-1]]
