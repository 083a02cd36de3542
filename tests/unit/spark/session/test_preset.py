from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.devstack.spark_authentication import AUTHENTICATE, AUTHENTICATION_FIRST, ENCRYPT
from sluice.errors import NotReadyError
from sluice.launch.master_address import MasterAddress
from sluice.project.kafka import ProjectKafka
from sluice.project.processes import ProjectProcesses
from sluice.project.project import Project
from sluice.settings import Settings
from sluice.spark.session.class_archive import CLASS_OPTIONS
from sluice.spark.session.preset import (
    Origin,
    batch_settings,
    effective_settings,
    engine_settings,
    merged,
    of_bucket,
    preset,
    unit_layers,
)
from sluice.specs.model.resources import CoreRange, Resources
from tests.unit.specs.bench import DEPLOYMENT_FILE, PIPELINE_FILE, sound_project

OWN = "sluice-0123456789ab.jar"


@pytest.fixture(autouse=True)
def jars(tmp_path: Path) -> None:
    for name in ("delta.jar", OWN):
        (tmp_path / name).touch()


def test_the_settings_of_a_session_are_known_without_spark() -> None:
    code = "import sys, sluice.spark.session.preset; print('pyspark' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_what_a_spec_says_wins_over_the_preset(tmp_path: Path) -> None:
    found = effective_settings(
        Resources(cores=3), jars=tmp_path, warehouse=tmp_path, overrides={"spark.sql.shuffle.partitions": "7"}
    )
    assert (found["spark.master"], found["spark.default.parallelism"]) == ("local[3]", "3")
    assert found["spark.sql.shuffle.partitions"] == "7"
    assert found["spark.jars"] == f"{tmp_path / 'delta.jar'},{tmp_path / OWN}"


def test_a_driver_takes_no_more_of_a_cluster_than_its_spec_says(tmp_path: Path) -> None:
    found = effective_settings(Resources(cores=3), jars=tmp_path, warehouse=tmp_path, master="spark://master:7077")
    assert (found["spark.master"], found["spark.cores.max"]) == ("spark://master:7077", "3")


def test_executors_have_the_cores_and_the_memory_of_the_spec_on_a_cluster_alone(tmp_path: Path) -> None:
    resources = Resources(cores=6, executor_cores=3, executor_memory="2g")
    names = ("spark.cores.max", "spark.executor.cores", "spark.executor.memory")
    on_cluster = effective_settings(resources, jars=tmp_path, warehouse=tmp_path, master="spark://a:7077,b:7077")
    assert [on_cluster[name] for name in names] == ["6", "3", "2g"]
    unsaid = effective_settings(Resources(), jars=tmp_path, warehouse=tmp_path, master="spark://a:7077")
    assert "spark.executor.cores" not in unsaid
    for here in ("local", "local[4]"):
        alone = effective_settings(resources, jars=tmp_path, warehouse=tmp_path, master=here)
        assert not alone.keys() & set(names)


def growing(tmp_path: Path, resources: Resources, master: str = "spark://a:7077") -> dict[str, str]:
    return effective_settings(resources, jars=tmp_path, warehouse=tmp_path, master=master)


def test_cores_grow_within_the_declared_bounds_and_by_whole_executors(tmp_path: Path) -> None:
    found = growing(tmp_path, Resources(cores=CoreRange(least=2, most=8), executor_cores=2))
    bounds = {name: found[f"spark.dynamicAllocation.{name}Executors"] for name in ("min", "initial", "max")}
    assert bounds == {"min": "1", "initial": "1", "max": "4"}
    assert (found["spark.cores.max"], found["spark.executor.cores"]) == ("8", "2")
    assert (
        found["spark.dynamicAllocation.enabled"] == found["spark.dynamicAllocation.shuffleTracking.enabled"] == "true"
    )
    assert "spark.dynamicAllocation.cachedExecutorIdleTimeout" not in found  # for ever, by default: see the preset
    by_one = growing(tmp_path, Resources(cores=CoreRange(least=2, most=8)))
    assert (by_one["spark.executor.cores"], by_one["spark.dynamicAllocation.maxExecutors"]) == ("1", "8")


@given(st.integers(1, 64), st.integers(0, 64))
def test_what_a_checkpoint_freezes_depends_on_the_upper_bound_alone(least: int, more: int) -> None:
    found = preset(Resources(cores=CoreRange(least=least, most=least + more)))
    assert found == preset(Resources(cores=least + more))
    assert found["spark.sql.shuffle.partitions"] == str(least + more)


@pytest.mark.parametrize("cores", [4, CoreRange(least=4, most=4)])
def test_a_plain_number_of_cores_is_kept_as_it_is(tmp_path: Path, cores: int | CoreRange) -> None:
    found = growing(tmp_path, Resources(cores=cores))
    assert (found["spark.cores.max"], found.get("spark.executor.cores")) == ("4", None)
    assert not [name for name in found if "dynamicAllocation" in name]


def test_on_this_machine_nothing_grows_and_the_upper_bound_is_meant(tmp_path: Path) -> None:
    found = growing(tmp_path, Resources(cores=CoreRange(least=2, most=8)), "local")
    assert found["spark.master"] == "local[8]"
    assert not [name for name in found if "dynamicAllocation" in name]


def test_without_jars_there_is_no_session(tmp_path: Path) -> None:
    (tmp_path / OWN).unlink()
    with pytest.raises(NotReadyError, match=r"holds no sluice-\*\.jar"):
        effective_settings(Resources(), jars=tmp_path, warehouse=tmp_path)
    (tmp_path / "delta.jar").unlink()
    with pytest.raises(NotReadyError, match="holds no jar"):
        effective_settings(Resources(), jars=tmp_path, warehouse=tmp_path)


def test_on_one_machine_no_file_needs_a_process(tmp_path: Path) -> None:
    bare, own = tmp_path / "hadoop-bare-naked-local-fs-0.1.0.jar", tmp_path / OWN
    bare.touch()
    alone = effective_settings(Resources(), jars=tmp_path, warehouse=tmp_path)
    beside_others = effective_settings(Resources(), jars=tmp_path, warehouse=tmp_path, master="spark://master:7077")
    assert alone["spark.driver.extraClassPath"].split(":") == [str(tmp_path / "delta.jar"), str(bare), str(own)]
    assert alone["spark.executor.extraClassPath"] == f"{bare}:{own}"
    assert alone["spark.hadoop.fs.file.impl"].endswith("BareLocalFileSystem")
    assert alone["spark.hadoop.fs.AbstractFileSystem.file.impl"] == "sluice.fs.AtomicLocalFs"
    assert not {"spark.driver.extraClassPath", "spark.hadoop.fs.file.impl"} & set(beside_others)


def test_where_our_jar_is_on_the_class_path_the_client_whose_class_it_extends_is_too(tmp_path: Path) -> None:
    (tmp_path / "hadoop-bare-naked-local-fs-0.1.0.jar").touch()
    client = tmp_path / "kafka-clients-4.3.1.jar"
    client.touch()
    found = effective_settings(Resources(), jars=tmp_path, warehouse=tmp_path)
    assert str(client) in found["spark.executor.extraClassPath"].split(":")


@pytest.mark.parametrize("extra", ["", "spark: {settings: {spark.driver.extraJavaOptions: -Xss32m}}\n"])
def test_every_jvm_may_ask_who_issues_the_tokens_whatever_else_specs_say(tmp_path: Path, extra: str) -> None:
    bench = sound_project(tmp_path / "project")
    (tmp_path / "spark").mkdir()
    for name in ("delta.jar", OWN):
        (tmp_path / "spark" / name).touch()
    place = Settings(home=bench.home, deployment="prod", jars=tmp_path)
    assert "spark.executor.defaultJavaOptions" not in batch_settings(Project.open_strict(place), "sales")
    issuer = "https://id.example.org/token"
    login = (
        f"{{user: a, password_variable: SLUICE_PASSWORD_A, mechanism: OAUTHBEARER, token: {{endpoint: '{issuer}'}}}}"
    )
    bench.edit(DEPLOYMENT_FILE, "    client.id: shop\n", f"    client.id: shop\n  login: {login}\n{extra}")
    project = Project.open_strict(place)
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={issuer}"
    for found in (batch_settings(project, "sales"), merged(unit_layers(project, project.catalog.units()["shop"]))):
        assert found[CLASS_OPTIONS] == f"{allowed} {AUTHENTICATION_FIRST}"
        assert found["spark.executor.defaultJavaOptions"] == allowed


@pytest.mark.parametrize(
    ("edits", "origin"),
    [
        ({}, Origin.PRESET),
        ({"driver: ": "lane: latency\ndriver: "}, Origin.LANE),
        (
            {"driver: ": "lane: latency\ndriver: ", "spark:\n": "spark:\n  spark.driver.extraJavaOptions: -Xss32m\n"},
            Origin.PIPELINE,
        ),
    ],
)
def test_a_driver_of_short_batches_compiles_sooner_unless_its_spec_says_how(
    tmp_path: Path, edits: dict[str, str], origin: Origin
) -> None:
    bench = sound_project(tmp_path / "project")
    (tmp_path / "spark").mkdir()
    for name in ("delta.jar", OWN):
        (tmp_path / "spark" / name).touch()
    for old, new in edits.items():
        bench.edit(PIPELINE_FILE, old, new)
    project = Project.open_strict(Settings(home=bench.home, deployment="prod", jars=tmp_path))
    (unit,) = project.catalog.units().values()
    name = "spark.driver.extraJavaOptions"
    layers = [(each, settings[name]) for each, settings in unit_layers(project, unit) if name in settings]
    assert layers[-1][0] is origin
    assert ("CompileThresholdScaling" in layers[-1][1]) == (origin is Origin.PRESET)


def test_a_driver_of_this_machine_alone_lets_no_stranger_ask_for_its_blocks_or_end_its_jobs(tmp_path: Path) -> None:
    alone = effective_settings(Resources(), jars=tmp_path, warehouse=tmp_path)
    assert (alone["spark.authenticate"], alone["spark.ui.killEnabled"]) == ("true", "false")
    of_cluster = effective_settings(Resources(), jars=tmp_path, warehouse=tmp_path, master="spark://127.0.0.1:7077")
    assert "spark.authenticate" not in of_cluster  # its parts would have to share a secret


@pytest.mark.parametrize("master", ["local", "spark://127.0.0.1:7077", "spark://elsewhere:7077"])
def test_each_jvm_that_has_our_jar_from_its_start_answers_nobody_before_authentication(
    tmp_path: Path, master: str
) -> None:
    (tmp_path / "hadoop-bare-naked-local-fs-0.1.0.jar").touch()
    found = effective_settings(Resources(), jars=tmp_path, warehouse=tmp_path, master=master)
    here = master != "spark://elsewhere:7077"
    for kind, asked in (("driver", here), ("executor", here and master != "local")):
        assert (AUTHENTICATION_FIRST in found.get(f"spark.{kind}.defaultJavaOptions", "")) == asked
        if asked:
            assert str(tmp_path / OWN) in found[f"spark.{kind}.extraClassPath"].split(os.pathsep)


@pytest.mark.parametrize(
    ("secured", "spark", "encrypts"),
    [
        (False, MasterAddress("local"), False),
        (True, MasterAddress("local"), True),
        (True, MasterAddress("spark://127.0.0.1:7077", settings=Path("settings")), True),
        (True, MasterAddress("spark://elsewhere:7077"), False),
    ],
)
def test_in_a_secured_stack_everything_encrypts_that_has_a_secret_of_the_stacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, secured: bool, spark: MasterAddress, encrypts: bool
) -> None:
    bench = sound_project(tmp_path / "project")
    (tmp_path / "spark").mkdir()
    (tmp_path / "spark" / OWN).touch()
    project = Project.open_strict(Settings(home=bench.home, deployment="prod", jars=tmp_path))
    monkeypatch.setattr(ProjectKafka, "is_secured", lambda _: secured)
    monkeypatch.setattr(ProjectProcesses, "spark", lambda _: spark)
    unit = merged(unit_layers(project, project.catalog.units()["shop"]))
    for found in (batch_settings(project, "sales"), engine_settings(project), unit):
        assert (found.items() >= (AUTHENTICATE | ENCRYPT).items()) == encrypts
        assert ("spark.network.crypto.enabled" in found) == encrypts
        assert (found.get("spark.ui.enabled") == "false") == secured


def test_executors_have_the_memory_that_the_spec_says(tmp_path: Path) -> None:
    resources = Resources(executor_memory="512m")
    on_a_cluster = effective_settings(resources, jars=tmp_path, warehouse=tmp_path, master="spark://master:7077")
    assert on_a_cluster["spark.executor.memory"] == "512m"
    assert "spark.executor.memory" not in effective_settings(resources, jars=tmp_path, warehouse=tmp_path)


def test_the_embedded_cluster_shares_the_machines_file_systems_and_its_loopback(tmp_path: Path) -> None:
    (tmp_path / "hadoop-bare-naked-local-fs-0.1.0.jar").touch()
    alone = effective_settings(Resources(), jars=tmp_path, warehouse=tmp_path)
    embedded = effective_settings(Resources(), jars=tmp_path, warehouse=tmp_path, master="spark://127.0.0.1:7077")
    assert embedded["spark.executor.extraClassPath"] == alone["spark.executor.extraClassPath"]
    shared = {"spark.hadoop.fs.file.impl", "spark.hadoop.fs.AbstractFileSystem.file.impl", "spark.driver.host"}
    assert {name: embedded[name] for name in shared} == {name: alone[name] for name in shared}
    assert embedded["spark.cores.max"] == "2"


def test_a_session_uses_the_newest_class_archive_and_keeps_the_options_of_a_spec(tmp_path: Path) -> None:
    jars = tmp_path / "spark"
    jars.mkdir()
    (jars / OWN).touch()
    without = effective_settings(Resources(), jars=jars, warehouse=tmp_path)
    assert without[CLASS_OPTIONS] == AUTHENTICATION_FIRST
    for age, name in ((20, "classes-old.jsa"), (10, "classes-new.jsa")):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1_700_000_000 - age,) * 2)
    options = {"spark.driver.extraJavaOptions": "-Xss32m"}
    found = effective_settings(Resources(), jars=jars, warehouse=tmp_path, overrides=options)
    assert f'-XX:SharedArchiveFile="{tmp_path / "classes-new.jsa"}"' in found[CLASS_OPTIONS]
    assert found["spark.driver.extraJavaOptions"] == "-Xss32m"


def test_tables_in_a_bucket_are_read_by_s3a_without_any_credentials_in_a_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    found = {"spark.master": "local[2]", "spark.jars": "a.jar", "spark.driver.extraClassPath": "a.jar"}
    with pytest.raises(NotReadyError, match="reads no bucket"):
        of_bucket(found, tmp_path / "s3")
    (tmp_path / "s3").mkdir()
    jar, prefix = tmp_path / "s3" / "hadoop-aws-3.jar", "spark.hadoop.fs.s3a."
    jar.touch()
    of_aws = of_bucket(found, tmp_path / "s3")
    assert (of_aws["spark.jars"], of_aws["spark.driver.extraClassPath"]) == (f"a.jar,{jar}", f"a.jar:{jar}")
    assert "spark.executor.extraClassPath" not in of_aws
    assert not any(name.startswith(prefix) for name in of_aws)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-north-1")
    own = of_bucket(found, tmp_path / "s3")
    assert {name.removeprefix(prefix): value for name, value in own.items() if name.startswith(prefix)} == {
        "endpoint": "http://127.0.0.1:9000",
        "endpoint.region": "eu-north-1",
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
    }
    assert "hidden" not in str(own)


def test_executors_of_a_cluster_get_the_jars_and_no_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    jar = tmp_path / "s3" / "hadoop-aws-3.jar"
    jar.parent.mkdir()
    jar.touch()
    own = of_bucket({"spark.master": "spark://a:7077", "spark.jars": "a.jar"}, jar.parent)
    assert own["spark.jars"] == f"a.jar,{jar}"
    assert "spark.executor.extraClassPath" not in own, "a path of this machine is none of another one's"
    assert "hidden" not in str(own)
    assert not any("executorEnv" in name for name in own)
