"""The copy of a proof is a sound project with one pipeline and its own topic; what a killed proof left is found."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from sluice.devstack.kafka.admin import administrator, authority_file
from sluice.errors import NotReadyError, RefusedError
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.launch.keeper import start_ticks
from sluice.project.project import Project
from sluice.proof.eligibility import covered_outputs
from sluice.proof.running.copying import copy_project
from sluice.proof.running.place import (
    MIB,
    ProofPlace,
    leftovers,
    refuse_no_room,
    refuse_shared,
)
from sluice.settings import Settings, settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.load import load_catalog
from sluice.specs.model.access import Role

BOOTSTRAP = ("localhost:1",)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    place = Settings(home=settings().home, state=tmp_path / "state")
    write_endpoints(place.folder, Endpoints(BOOTSTRAP, airflow_url=""))
    return Project.open_strict(place)


def place_in(tmp_path: Path) -> ProofPlace:
    filled = {"departures_news": "prove_1234_departures_news", "flights_dead": "prove_1234_flights_dead"}
    return ProofPlace(tmp_path / "state" / "proofs" / "1234", {"flights": "prove_1234_flights"}, "departures", filled)


def test_the_copy_reads_a_topic_of_its_own_and_shares_nothing(project: Project, tmp_path: Path) -> None:
    spec, place = project.catalog.pipelines["departures"], place_in(tmp_path)
    place.record()
    copy_project(project, spec, place)
    copy = place.open(project.settings)
    assert list(copy.catalog.topics) == ["prove_1234_flights"]
    own = copy.catalog.pipelines["departures"]
    assert list(copy.catalog.pipelines) == ["departures"]
    assert {name: source.topic for name, source in own.topic_sources.items()} == {"flights": "prove_1234_flights"}
    assert own.topic_sources["flights"].time == spec.topic_sources["flights"].time
    assert own.outputs == covered_outputs(spec) == spec.outputs
    assert (own.transform, own.static, own.driver) == (spec.transform, spec.static, spec.driver)
    assert copy.kafka.bootstrap() == BOOTSTRAP
    assert copy.kafka.client() == {}
    assert copy.folder.table("flights_raw").is_relative_to(place.root)
    assert copy.settings.control_url.endswith(f"{place.state.control}")
    topics = project.catalog.topics["flights"], copy.catalog.topics["prove_1234_flights"]
    assert replace_name(topics[0].model_dump()) == replace_name(topics[1].model_dump())


def replace_name(topic: dict[str, object]) -> dict[str, object]:
    return {**topic, "name": ""}


MORE_OUTPUTS = """
  - {kind: topic, topic: departures_news, keys: [hour, origin, carrier], where: departed > 1, create: {partitions: 2}}
  - {kind: dead_letters, topic: flights_dead, create: {partitions: 3, retention: 1 day}}
  - {kind: latest, table: served, keys: [hour, origin, carrier], store: postgres, connection: serving}
  - {kind: sink, name: crm, function: "crm:write"}
"""
SINK = """from sluice.spark.sinks.own import delivers


@delivers("at_least_once")
def write(rows, batch):
    ...
"""


def test_topics_that_outputs_fill_have_names_of_their_own_and_nothing_is_written_elsewhere(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for part in ("include", "spark_jobs"):
        shutil.copytree(settings().home / part, home / part, ignore=shutil.ignore_patterns("__pycache__", "sluice"))
    file = home / "include/pipelines/departures.yaml"
    text = file.read_text(encoding="utf-8").replace("driver: flights", f"{MORE_OUTPUTS.lstrip(chr(10))}driver: flights")
    file.write_text(text, encoding="utf-8")
    (home / "spark_jobs/sinks").mkdir()
    (home / "spark_jobs/sinks/crm.py").write_text(SINK, encoding="utf-8")
    own = Settings(home=home, state=tmp_path / "state")
    write_endpoints(own.folder, Endpoints(BOOTSTRAP, airflow_url=""))
    project, place = Project.open_strict(own), place_in(tmp_path)
    place.record()
    spec = project.catalog.pipelines["departures"]
    copy_project(project, spec, place)
    copy = place.open(own).catalog.pipelines["departures"]
    assert [(each.kind, getattr(each, "topic", "")) for each in copy.outputs] == [
        ("intervals", ""),
        ("latest", ""),
        ("topic", "prove_1234_departures_news"),
        ("dead_letters", "prove_1234_flights_dead"),
    ]
    shapes = [(each.create.partitions, each.create.retention) for each in copy.written_topics if each.create]
    assert shapes == [(2, "forever"), (3, timedelta(days=1))]
    assert len(covered_outputs(spec)) == 4


def test_a_deployment_whose_things_would_be_touched_is_refused(project: Project) -> None:
    refuse_shared(project)
    catalog: Catalog = load_catalog(settings().home / "include")
    local = catalog.deployments["local"]

    def refuse(**changes: object) -> None:
        changed = local.model_copy(update=changes)
        refuse_shared(Project(project.settings, replace(catalog, deployments={"local": changed})))

    with pytest.raises(RefusedError, match="keeps tables in /somewhere"):
        refuse(storage="/somewhere")


def test_the_copy_connects_to_a_secured_stack_as_its_administrator(project: Project, tmp_path: Path) -> None:
    own, place = project.settings.folder, place_in(tmp_path)
    write_endpoints(own, Endpoints(BOOTSTRAP, airflow_url="", kafka_secured=True))
    admin = administrator(own.kafka)
    admin.admit()
    authority_file(own.kafka).parent.mkdir()
    authority_file(own.kafka).write_text("ca", encoding="utf-8")
    place.record()
    copy_project(project, project.catalog.pipelines["departures"], place)
    copy = place.open(project.settings)
    for role in Role:
        client = dict(copy.kafka.client(role))
        ca = client.pop("ssl.ca.location")
        assert Path(ca).resolve() == authority_file(own.kafka)
        assert client == {name: value for name, value in admin.client.items() if name != "ssl.ca.location"}
    place.release(keep=False)
    assert admin.file.exists()  # only the link is gone


EXTERNAL = """name: local
kafka:
  kind: external
  bootstrap: [broker.example.org:9093]
  tls: {}
  login: {user: everybody, password_variable: SLUICE_PASSWORD_EVERYBODY}
  users: {planner: chief, stream: stream}
replication: 3
"""


@pytest.mark.parametrize("has_planner", [True, False])
def test_the_copy_connects_to_another_cluster_as_the_planner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_planner: bool
) -> None:
    home = tmp_path / "home"
    for part in ("include", "spark_jobs"):
        shutil.copytree(settings().home / part, home / part, ignore=shutil.ignore_patterns("__pycache__", "sluice"))
    text = EXTERNAL if has_planner else EXTERNAL.replace("planner: chief, ", "")
    (home / "include/deployments/local.yaml").write_text(text, encoding="utf-8")
    (home / "include/access").mkdir(exist_ok=True)
    for name, role in (("chief", "planner"), ("stream", "stream")):
        scram = f"{{password_variable: SLUICE_PASSWORD_{name.upper()}}}"
        spec = f"name: {name}\nuser: the-{name}\nrole: {role}\nhosts: ['10.0.0.1']\nscram: {scram}\n"
        (home / f"include/access/{name}.yaml").write_text(spec, encoding="utf-8")
    for name in ("CHIEF", "STREAM", "EVERYBODY"):
        monkeypatch.setenv(f"SLUICE_PASSWORD_{name}", f"secret of {name}")
    own = Settings(home=home, state=tmp_path / "state")
    project, place = Project.open_strict(own), place_in(tmp_path)
    place.record()
    copy_project(project, project.catalog.pipelines["departures"], place)
    copy = place.open(own)
    assert copy.kafka.bootstrap() == ("broker.example.org:9093",)
    assert copy.deployment.replication == 3
    user = "the-chief" if has_planner else "everybody"
    for role in Role:
        client = copy.kafka.client(role)
        assert client["security.protocol"] == "SASL_SSL"
        assert f'username="{user}"' in client["sasl.jaas.config"]
    assert not [file for file in place.root.rglob("*") if file.is_file() and b"secret of" in file.read_bytes()]


def test_without_room_nothing_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=700 * MIB))
    refuse_no_room(tmp_path / "proofs", 1_000)
    with pytest.raises(NotReadyError, match="has 700 MiB left, and a proof needs 1,466"):
        refuse_no_room(tmp_path / "proofs", 100_000)


def test_what_a_killed_proof_has_left_behind_is_found_and_a_running_one_is_not(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    proofs = place.root.parent
    place.record()
    assert leftovers(proofs) == []  # this process lives
    dead = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    ticks = start_ticks(dead.pid)
    dead.communicate()
    record = place.root / "proof.json"
    entry = json.loads(record.read_bytes())
    assert entry["pid"] == os.getpid()
    record.write_text(json.dumps({**entry, "pid": dead.pid, "ticks": ticks}), encoding="utf-8")
    assert leftovers(proofs) == [place]
    odd: list[dict[str, object]] = [{"read": {"flights": "flights"}}, {"read": {}}, {"filled": {"news": "news"}}]
    odd += [{"filled": 1}, {"read": 1}, {"pid": "x"}]
    for other in (*odd, {"ticks": None, "pid": os.getpid(), "read": {"flights": "flights"}}):
        record.write_text(json.dumps({**entry, "pid": dead.pid, "ticks": ticks, **other}), encoding="utf-8")
        assert leftovers(proofs) == []
    record.write_bytes(b"[1]")
    assert leftovers(proofs) == []


def test_the_report_and_the_journal_outlive_the_copy(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    place.record()
    for name in ("project", "state"):
        (place.root / name).mkdir()
    place.journal.write_text("", encoding="utf-8")
    place.release(keep=True)
    assert sorted(path.name for path in place.root.iterdir()) == ["journal.jsonl", "project", "state"]
    place.release(keep=False)
    assert [path.name for path in place.root.iterdir()] == ["journal.jsonl"]
