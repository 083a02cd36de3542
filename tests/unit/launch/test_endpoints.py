from __future__ import annotations

from pathlib import Path

import pytest

from sluice.devstack.kafka.admin import administrator, kafka_client
from sluice.errors import CorruptionError, NotReadyError
from sluice.launch.endpoints import Endpoints, read_endpoints, write_endpoints
from sluice.settings import StateFolder


def test_endpoints_are_read_as_they_were_written(tmp_path: Path) -> None:
    endpoints = Endpoints(
        ("127.0.0.1:9092",),
        "http://127.0.0.1:8080",
        "spark://127.0.0.1:7077",
        "http://127.0.0.1:81",
        kafka_secured=True,
    )
    folder = StateFolder(tmp_path / "new")
    write_endpoints(folder, endpoints)
    assert read_endpoints(folder) == endpoints


def test_a_stack_that_is_not_up_is_not_ready(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match=r"is not up\. Fix: run `sluice up`\."):
        read_endpoints(StateFolder(tmp_path))


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", '{"kafka_bootstrap": null, "airflow_url": ""}'])
def test_a_damaged_record_is_no_missing_one(tmp_path: Path, text: str) -> None:
    folder = StateFolder(tmp_path)
    folder.stack.write_text(text)
    with pytest.raises(CorruptionError, match=r"stack\.json"):
        read_endpoints(folder)


def test_a_record_from_before_there_were_clusters_has_none(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    folder.stack.write_text('{"kafka_bootstrap": ["127.0.0.1:9092"], "airflow_url": "http://127.0.0.1:8080"}')
    assert read_endpoints(folder).spark_master == ""
    assert not read_endpoints(folder).kafka_secured


def test_whoever_connects_to_a_secured_cluster_has_the_administrators_settings(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    write_endpoints(folder, Endpoints(("127.0.0.1:9092",), "http://127.0.0.1:8080", kafka_secured=True))
    admin = administrator(folder.kafka)
    admin.admit()
    assert kafka_client(folder) == admin.client
    assert admin.password not in folder.stack.read_text()
    write_endpoints(folder, Endpoints(("127.0.0.1:9092",), "http://127.0.0.1:8080"))
    assert kafka_client(folder) == {}
