from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sluice.devstack.doctor import DISK_BYTES, GIB, MEMORY_BYTES, Check, judge, tls_checks
from sluice.devstack.kafka.java import Java
from sluice.devstack.machine import Machine
from sluice.settings import Settings
from tests.certificates import make_authority
from tests.unit.specs.bench import DEPLOYMENT_FILE, sound_project

NOW = datetime.now(UTC)

READY = Machine(
    system="Linux",
    python=(3, 12),
    java=Java("/usr/bin/java", 17, has_modules=True),
    java_home="",
    memory_bytes=MEMORY_BYTES,
    disk_bytes=DISK_BYTES,
    state_is_writable=True,
    state=Path("/state"),
    stack_is_up=False,
    free_ports={"airflow 8080": True, "kafka 9092": True},
    missing_jars=(),
    pyspark=("4.2.0", "4.2.0"),
)


def failures(machine: Machine) -> list[Check]:
    return [check for check in judge(machine) if not check.ok]


def test_a_machine_that_has_just_enough_is_ready() -> None:
    assert failures(READY) == []
    assert all(check.fix == "" for check in judge(READY))


@pytest.mark.parametrize(
    ("machine", "name", "found"),
    [
        (replace(READY, system="Darwin"), "system", "Darwin"),
        (replace(READY, python=(3, 10)), "python", "3.10"),
        (replace(READY, python=(3, 14)), "python", "3.14"),
        (replace(READY, java=None), "java", "there is no java on PATH"),
        (
            replace(READY, java=None, java_home="/opt/jdk"),
            "java",
            "JAVA_HOME is /opt/jdk, and there is no bin/java in it",
        ),
        (replace(READY, java=Java("/j", 21, has_modules=True)), "java", "/j is Java 21, and"),
        (replace(READY, java=Java("/j", None, has_modules=True)), "java", "of an unknown version"),
        (replace(READY, java=Java("/j", 17, has_modules=False)), "java", "without the module jdk.incubator.vector"),
        (replace(READY, memory_bytes=MEMORY_BYTES - GIB), "memory", "5.0 GiB"),
        (replace(READY, disk_bytes=DISK_BYTES // 2), "disk", "0.5 GiB"),
        (replace(READY, state_is_writable=False), "disk", "cannot be written"),
        (replace(READY, missing_jars=("kafka/a.jar", "spark/b.jar")), "jars", "2 are missing or changed, kafka/a.jar"),
        (replace(READY, pyspark=("4.2.0", "4.3.0")), "pyspark", "pyspark-client 4.3.0"),
        (replace(READY, pyspark=("", "")), "pyspark", "not installed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_thing_that_is_missing_is_named_with_its_fix(machine: Machine, name: str, found: str) -> None:
    (failure,) = failures(machine)
    assert failure.name == name
    assert found in failure.found
    assert failure.fix.endswith(".")


def test_a_stack_that_is_up_has_taken_its_memory_and_ports_by_right() -> None:
    machine = replace(READY, stack_is_up=True, memory_bytes=GIB, free_ports={"airflow 8080": False})
    assert failures(machine) == []


def test_files_of_tls_are_judged_with_what_was_found_and_when_they_end(tmp_path: Path) -> None:
    bench = sound_project(tmp_path)
    place = Settings(home=bench.home, deployment="prod")
    assert tls_checks(place, NOW) == []
    bench.edit(DEPLOYMENT_FILE, "    client.id: shop", f"    client.id: shop\n  tls: {{ca: {tmp_path}/ca.pem}}")
    (missing,) = tls_checks(place, NOW)
    assert (missing.name, missing.ok, missing.found) == ("tls", False, f"{tmp_path}/ca.pem is not there")
    assert "put the file there" in missing.fix
    make_authority(tmp_path, begin=NOW, days=3)
    assert tls_checks(place, NOW) == [
        Check("tls", ok=True, found=f"{tmp_path}/ca.pem until {NOW + timedelta(3):%Y-%m-%d}")
    ]
    (late,) = tls_checks(place, NOW + timedelta(4))
    assert not late.ok
    assert "expired at" in late.found


def test_taken_ports_are_no_failure_but_are_named() -> None:
    machine = replace(READY, free_ports={"airflow 8080": False, "kafka 9092": True})
    assert failures(machine) == []
    (ports,) = (check for check in judge(machine) if check.name == "ports")
    assert "taken: airflow 8080;" in ports.found
