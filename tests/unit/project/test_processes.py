"""What the processes that we start find in their environment: what they need, exactly, and nobody else's secrets."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from pydantic import ValidationError

from sluice.devstack.airflow.configuration import engine_environment, narrowed, stack_environment
from sluice.errors import NotConfiguredError
from sluice.project.project import Project
from sluice.secrecy.secret_values import forms
from sluice.settings import EVERY_PROCESS, Settings, connection_url, inherited, settings
from sluice.specs.deployments.kafka import ExternalKafka, Login
from sluice.specs.model.access import Role
from sluice.specs.model.outputs import LatestOutput
from sluice.specs.model.resources import Resources
from sluice.streams.life.attempts import Attempt, AttemptState
from tests.twins.clock import START

PLAIN = {"PATH": "/usr/bin", "HOME": "/home/ada", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
POISON = {
    "SLUICE_CONTROL_URL": "postgresql://sluice:hunter22@control/sluice",
    "SLUICE_REGISTRY_LOGIN": "ada:hunter22",
    "SLUICE_PASSWORD_FEED": "hunter22",
    "SLUICE_CONNECTION_OTHERS": "postgresql://others:hunter22@db/others",
    "SLUICE_STACK": "/somewhere",
    "SLUICE_DRIVER": "/somewhere/else",
    "AIRFLOW__CORE__FERNET_KEY": "hunter22",
    "AIRFLOW_CONN_MAIL": "smtp://ada:hunter22@mail",
    "AWS_SECRET_ACCESS_KEY": "hunter22",
    "https_proxy": "http://ada:hunter22@proxy:3128",
    "OPENLINEAGE_API_KEY": "hunter22",
}
ATTEMPT = Attempt("flights", 1, "local.flights.g1", AttemptState.INTENT, START)


@pytest.fixture
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment in which hardly anything is any business of a driver."""
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in {**PLAIN, **POISON}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def project() -> Project:
    return Project.open_strict(Settings(home=settings().home))


def serving(project: Project, *, environment: tuple[str, ...] = ()) -> Project:
    """Return the project with an output in PostgreSQL, and variables that its pipeline declares."""
    before = project.catalog.pipelines["departures"]
    output = LatestOutput(kind="latest", table="now", keys=("origin",), store="postgres", connection="serving")
    pipeline = before.model_copy(
        update={
            "outputs": (*before.every_output, output),
            "output": None,
            "resources": Resources(environment=environment),
        }
    )
    pipelines = {**project.catalog.pipelines, "departures": pipeline}
    project.catalog = replace(project.catalog, pipelines=pipelines)
    return project


@pytest.mark.usefixtures("poisoned")
def test_a_driver_gets_what_every_process_needs_and_nothing_else(project: Project) -> None:
    assert inherited(project.processes.driver(ATTEMPT).inherits) == PLAIN


@pytest.mark.usefixtures("poisoned")
def test_a_driver_gets_exactly_the_connections_and_variables_that_its_own_specs_name(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_CONNECTION_SERVING", "postgresql://serving")
    monkeypatch.setenv("AWS_PROFILE", "flights")
    job = serving(project, environment=("AWS_PROFILE",)).processes.driver(ATTEMPT)
    own = {"SLUICE_CONNECTION_SERVING": "postgresql://serving", "AWS_PROFILE": "flights"}
    assert inherited(job.inherits) == {**PLAIN, **own}
    other = project.processes.driver(replace(ATTEMPT, unit="another", key="local.another.g1"))
    assert inherited(other.inherits) == PLAIN


@pytest.mark.usefixtures("poisoned")
def test_our_settings_for_a_driver_hold_no_secret_and_no_control_database(project: Project) -> None:
    environment = project.processes.driver(ATTEMPT).environment
    assert set(environment) == {
        *("SLUICE_HOME", "SLUICE_STATE", "SLUICE_DEPLOYMENT", "SLUICE_JARS", "SLUICE_FAILPOINT"),
        "SLUICE_SPARK_MASTER",
    }
    assert not any("hunter22" in value for value in environment.values())


@pytest.mark.usefixtures("poisoned")
def test_a_rehearsal_gets_what_its_driver_gets_and_takes_no_cores_of_a_cluster(project: Project) -> None:
    driver, rehearsal = project.processes.driver(ATTEMPT), project.processes.rehearsal(ATTEMPT.unit, ATTEMPT.generation)
    assert rehearsal.argv == (*driver.argv, "--rehearse")
    assert rehearsal.inherits == driver.inherits
    assert (rehearsal.environment["SLUICE_SPARK_MASTER"], rehearsal.resources) == ("local", None)
    assert set(rehearsal.environment) - set(driver.environment) == {"SLUICE_BATCH_NICENESS"}


@pytest.mark.usefixtures("poisoned")
def test_a_batch_gets_the_control_database_and_what_it_tells_lineage_by(project: Project) -> None:
    job = serving(project).processes.batch("departures", ["quality"])
    assert inherited(job.inherits) == {**PLAIN, "OPENLINEAGE_API_KEY": "hunter22"}
    assert set(job.environment) - set(project.processes.driver(ATTEMPT).environment) == {
        "SLUICE_CONTROL_URL",
        "SLUICE_BATCH_NICENESS",
    }
    assert project.processes.inherited_by_batch("nobody") == {"OPENLINEAGE_API_KEY"}


@pytest.mark.usefixtures("poisoned")
def test_airflow_gets_what_is_sluices_and_the_way_out_and_brokers_get_neither(project: Project) -> None:
    place = project.settings
    airflow, engine = stack_environment(place), engine_environment(place)
    of_airflow = {"AIRFLOW_HOME", "AIRFLOW_CONN_SPARK_DEFAULT", "https_proxy", "OPENLINEAGE_API_KEY"}
    assert {*PLAIN, *of_airflow, "SLUICE_CONTROL_URL", "SLUICE_CONNECTION_OTHERS"} <= airflow.keys()
    assert not {"AWS_SECRET_ACCESS_KEY", "AIRFLOW__CORE__FERNET_KEY", "SLUICE_DRIVER"} & airflow.keys()
    assert set(engine) == {*PLAIN, "SLUICE_STACK", "SPT_NOENV"}
    command = narrowed(("java", "-version"), airflow, engine)
    removed = {name for flag, name in pairwise(command) if flag == "-u"}
    assert removed == set(airflow) - set(engine)
    assert (command[0], command[-2:]) == ("env", ("java", "-version"))


@pytest.mark.usefixtures("poisoned")
def test_a_program_of_supervisords_has_only_its_part_of_the_environment(project: Project) -> None:
    whole, kept = stack_environment(project.settings), engine_environment(project.settings)
    done = subprocess.run(narrowed(("env",), whole, kept), env=whole, capture_output=True, text=True, check=True)
    assert {line.partition("=")[0] for line in done.stdout.splitlines()} == set(kept)
    assert "hunter22" not in done.stdout


def test_what_the_specs_name_and_nobody_has_set_is_said_by_its_name_and_how_to_set_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLUICE_CONNECTION_SERVING", raising=False)
    monkeypatch.delenv("SHOP_REGION", raising=False)
    served = serving(project, environment=("SHOP_REGION",))
    assert served.processes.unset("flights") == ("SHOP_REGION", "SLUICE_CONNECTION_SERVING")
    with pytest.raises(NotConfiguredError, match="SHOP_REGION, SLUICE_CONNECTION_SERVING, which are") as refused:
        served.processes.refuse_unconfigured("flights")
    assert "SLUICE_CONNECTION_SERVING=postgresql+psycopg://" in refused.value.fix
    monkeypatch.setenv("SLUICE_CONNECTION_SERVING", "postgresql://serving")
    monkeypatch.setenv("SHOP_REGION", "north")
    served.processes.refuse_unconfigured("flights")
    assert served.processes.unset("nobody") == ()


def test_a_password_of_ones_own_cluster_must_be_set_by_its_value_its_file_or_its_command(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = Login(user="stream", password_variable="SLUICE_PASSWORD_STREAM")  # noqa: S106 - a name
    kafka = ExternalKafka(kind="external", bootstrap=("kafka:9092",), login=login)
    project.deployment = project.deployment.model_copy(update={"kafka": kafka})
    for name in forms("SLUICE_PASSWORD_STREAM"):
        monkeypatch.delenv(name, raising=False)
    assert project.processes.unset("flights") == ("SLUICE_PASSWORD_STREAM",)
    every = set(forms("SLUICE_PASSWORD_STREAM"))
    assert every <= project.processes.inherited_by_unit("flights")
    assert every <= project.processes.inherited_by_batch("departures"), "it compares its raw table with Kafka"
    for form in sorted(every):
        with monkeypatch.context() as patch:
            patch.setenv(form, "/run/secrets/stream")
            assert project.processes.unset("flights") == ()


@pytest.mark.usefixtures("poisoned")
def test_a_secret_that_a_file_or_a_command_holds_is_in_no_argument_and_no_setting_of_a_process(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "url"
    file.write_text("postgresql://serving:battery-staple@db/serving")
    monkeypatch.setenv("SLUICE_CONNECTION_SERVING_FILE", str(file))
    served = serving(project)
    assert served.processes.unset("flights") == ()
    assert "battery-staple" in connection_url("serving")
    for job in (served.processes.driver(ATTEMPT), served.processes.batch("departures", ["quality"])):
        given = {**inherited(job.inherits), **job.environment}
        assert "battery-staple" not in " ".join([*job.argv, *given.values()])
    driver = inherited(served.processes.driver(ATTEMPT).inherits)
    assert driver == {**PLAIN, "SLUICE_CONNECTION_SERVING_FILE": str(file)}


@pytest.mark.usefixtures("poisoned")
def test_a_batch_finds_the_control_database_where_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLUICE_CONTROL_URL")
    monkeypatch.setenv("SLUICE_CONTROL_URL_FILE", "/run/secrets/control")
    job = Project.open_strict(Settings(home=settings().home)).processes.batch("departures", ["quality"])
    assert inherited(job.inherits)["SLUICE_CONTROL_URL_FILE"] == "/run/secrets/control"
    assert job.environment["SLUICE_CONTROL_URL"] == ""


def test_the_embedded_cluster_keeps_passwords_that_nobody_sets(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Role.STREAM in project.deployment.kafka.users
    for name in [name for name in os.environ if name.startswith("SLUICE_PASSWORD_")]:
        monkeypatch.delenv(name)
    assert project.processes.unset("flights") == ()
    assert "SLUICE_PASSWORD_STREAM" in project.processes.inherited_by_unit("flights")


@pytest.mark.parametrize(
    "name", ["SLUICE_CONTROL_URL", "SLUICE_PASSWORD_FEED", "AIRFLOW_CONN_MAIL", "_AIRFLOW_X", "OPENLINEAGE_URL"]
)
def test_a_spec_declares_no_variable_of_ours(name: str) -> None:
    with pytest.raises(ValidationError, match="remove it"):
        Resources(environment=(name,))


@pytest.mark.parametrize("names", [("A=B",), ("1A",), ("",), ("A", "A")])
def test_a_spec_declares_names_once_each(names: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError):
        Resources(environment=names)


def test_no_secret_is_among_what_every_process_gets() -> None:
    assert not {name for name in EVERY_PROCESS if name.startswith(("SLUICE", "AIRFLOW", "AWS"))}
