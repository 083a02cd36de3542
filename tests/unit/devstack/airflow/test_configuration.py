from __future__ import annotations

import configparser
import json
import re
import stat
from pathlib import Path

import pytest

from sluice.devstack.airflow.configuration import (
    COMPONENTS,
    USER,
    airflow_command,
    password_file,
    stack_environment,
    write_configuration,
)
from sluice.devstack.kafka.admin import authority_file, brokers_file
from sluice.errors import CorruptionError
from sluice.launch.processes import STACK_MARK
from sluice.settings import Settings


@pytest.fixture
def place(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, state=tmp_path / "100% mine")


def read(place: Settings) -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(place.folder.airflow / "airflow.cfg")
    return parser


def test_airflow_answers_on_this_machine_alone_at_the_chosen_port(place: Settings) -> None:
    write_configuration(place, 8123)
    options = read(place)
    assert options["api"]["host"] == "127.0.0.1"
    assert options["api"]["port"] == "8123"
    assert options["api"]["base_url"] == "http://127.0.0.1:8123"
    assert options["core"]["execution_api_server_url"] == "http://127.0.0.1:8123/execution/"


def test_a_secured_one_encrypts_asks_for_a_password_and_keeps_it(place: Settings) -> None:
    write_configuration(place, 8123, secured=True)
    options, passwords = read(place), password_file(place)
    assert options["api"]["base_url"] == "https://127.0.0.1:8123"
    assert options["core"]["execution_api_server_url"] == "https://127.0.0.1:8123/execution/"
    assert options["api"]["ssl_cert"] == options["api"]["ssl_key"] == str(brokers_file(place.folder.kafka))
    assert options["api"]["ssl_ca_file"] == str(authority_file(place.folder.kafka))
    assert options["core"]["simple_auth_manager_all_admins"] == "False"
    assert options["core"]["simple_auth_manager_users"] == f"{USER}:admin"
    assert options["core"]["simple_auth_manager_passwords_file"] == str(passwords)
    drawn = json.loads(passwords.read_text())
    assert len(drawn[USER]) > 40
    assert stat.S_IMODE(passwords.stat().st_mode) == 0o600
    write_configuration(place, 8123, secured=True)
    assert json.loads(passwords.read_text()) == drawn


def test_a_task_waits_for_a_server_that_comes_up_on_a_busy_machine(place: Settings) -> None:
    write_configuration(place, 8123)
    assert float(read(place)["workers"]["execution_api_timeout"]) >= 60


def test_all_that_airflow_writes_is_in_the_state_folder(place: Settings) -> None:
    write_configuration(place, 8080)
    options = read(place)
    assert options["database"]["sql_alchemy_conn"] == f"sqlite:///{place.state}/airflow/airflow.db"
    assert options["logging"]["base_log_folder"].startswith(str(place.state))
    assert options["core"]["dags_folder"] == str(place.home / "dags")


def test_secrets_are_drawn_once_and_readable_by_nobody_else(place: Settings) -> None:
    write_configuration(place, 8080)
    first = read(place)
    write_configuration(place, 8081)
    second = read(place)
    for section, option in (("core", "fernet_key"), ("api_auth", "jwt_secret"), ("api", "secret_key")):
        assert first[section][option] == second[section][option]
    assert len(first["api_auth"]["jwt_secret"]) >= 64
    for name in ("airflow.cfg", "secrets.json"):
        assert stat.S_IMODE((place.folder.airflow / name).stat().st_mode) == 0o600


def test_two_state_folders_have_different_secrets(place: Settings, tmp_path: Path) -> None:
    other = Settings(home=tmp_path, state=tmp_path / "other")
    write_configuration(place, 8080)
    write_configuration(other, 8080)
    assert read(place)["api_auth"]["jwt_secret"] != read(other)["api_auth"]["jwt_secret"]


def test_no_secret_is_in_the_environment_or_in_an_argument(place: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "postgresql://user:password@host/db")
    write_configuration(place, 8080)
    secrets = json.loads((place.folder.airflow / "secrets.json").read_text()).values()
    environment = stack_environment(place)
    commands = [argument for arguments in COMPONENTS.values() for argument in airflow_command(*arguments)]
    for text in (*environment.values(), *commands):
        assert not any(secret in text for secret in (*secrets, "password"))


def test_the_stack_gets_our_settings_and_carries_its_mark(place: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_STATE", "/another")
    monkeypatch.setenv("JAVA_HOME", "/opt/jdk")
    environment = stack_environment(place)
    assert environment["SLUICE_STATE"] == environment[STACK_MARK] == str(place.state)
    assert environment["AIRFLOW_HOME"] == str(place.folder.airflow)
    assert environment["PATH"].split(":")[1] == "/opt/jdk/bin"


@pytest.mark.parametrize(("storage", "passed"), [("/mnt/sluice", False), ("s3://bucket/sluice", True)])
def test_the_credentials_of_a_bucket_are_passed_on_where_tables_are_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, storage: str, *, passed: bool
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of the bucket")
    deployments = tmp_path / "include" / "deployments"
    deployments.mkdir(parents=True)
    (deployments / "local.yaml").write_text(f"name: local\nkafka: {{kind: embedded}}\nstorage: {storage}\n")
    found = stack_environment(Settings(home=tmp_path, state=tmp_path / "state"))
    assert ("AWS_SECRET_ACCESS_KEY" in found) is passed


def test_damaged_secrets_are_not_replaced_silently(place: Settings) -> None:
    write_configuration(place, 8080)
    (place.folder.airflow / "secrets.json").write_text("{")
    with pytest.raises(CorruptionError, match=r"secrets\.json"):
        write_configuration(place, 8080)


@pytest.mark.parametrize(
    ("master", "found"), [("local", r"local\[\d+\]"), ("spark://master:7077", "spark://master:7077")]
)
def test_the_spark_connection_leads_to_the_deployments_cores(tmp_path: Path, master: str, found: str) -> None:
    deployments = tmp_path / "include" / "deployments"
    deployments.mkdir(parents=True)
    text = f'name: local\nkafka: {{kind: embedded}}\nspark: {{master: "{master}"}}\n'
    (deployments / "local.yaml").write_text(text, encoding="utf-8")

    connection = json.loads(stack_environment(Settings(home=tmp_path))["AIRFLOW_CONN_SPARK_DEFAULT"])

    assert re.fullmatch(found, connection["host"])
