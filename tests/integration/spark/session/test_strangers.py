"""A driver hands nothing to a stranger at its ports, and everything to itself; without our option it hands out jars."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from sluice.devstack.jars import own_jar
from sluice.devstack.spark_authentication import ENCRYPT
from sluice.settings import settings
from sluice.spark.session.class_archive import CLASS_OPTIONS
from sluice.spark.session.session import session
from sluice.specs.model.resources import Resources
from tests.spark_strangers import STREAM, chunk_request, kind_of, length_of_stream, stream_request, told

pytestmark = [pytest.mark.verify, pytest.mark.timeout(300)]

LARGE = 3_000_000
"""Bytes of a result that is larger than what a task sends itself: the driver fetches it from its own port."""
REQUESTS = {
    "a jar": lambda: stream_request(f"/jars/{own_jar(settings()).path.name}"),
    "no file": lambda: stream_request("/files/none"),
    "a chunk": lambda: chunk_request(1),
}


@dataclass(frozen=True)
class Visit:
    """What a stranger was told, by port and request, and the length of a result that the driver fetched itself."""

    told: dict[tuple[str, str], bytes]
    fetched: int


def visited(overrides: Mapping[str, str], warehouse: Path) -> Visit:
    """Start a session, work, and ask; in a process whose only session it is."""
    place = settings().jars / "spark"
    spark = session("strangers", Resources(), jars=place, warehouse=warehouse, overrides=overrides)
    try:
        row = spark.range(1, numPartitions=1).selectExpr(f"repeat('x', {LARGE}) AS text").collect()[0]
        environment: Any = spark._jvm.org.apache.spark.SparkEnv.get()
        ports = {
            "calls": environment.rpcEnv().address().port(),
            "blocks": environment.blockManager().blockManagerId().port(),
        }
        said = {(name, what): told(port, ask()) for name, port in ports.items() for what, ask in REQUESTS.items()}
        return Visit(said, len(row.text))
    finally:
        spark.stop()


def visit(tmp_path: Path, overrides: Mapping[str, str]) -> Visit:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(visited, overrides, tmp_path / "warehouse").result(240)


@pytest.mark.parametrize("more", [{}, ENCRYPT], ids=["asks", "asks and encrypts"])
def test_a_stranger_gets_nothing_and_the_driver_what_it_needs(tmp_path: Path, more: dict[str, str]) -> None:
    found = visit(tmp_path, more)
    assert found.fetched == LARGE
    assert {what: said for what, said in found.told.items() if said} == {}


def test_without_the_option_a_stranger_gets_the_jar(tmp_path: Path) -> None:
    found = visit(tmp_path, {CLASS_OPTIONS: "-Dio.netty.bootstrap.extensions="})
    assert kind_of(found.told["calls", "a jar"]) == STREAM
    assert length_of_stream(found.told["calls", "a jar"]) == own_jar(settings()).path.stat().st_size
    assert all(found.told[port, what] for port in ("calls", "blocks") for what in ("no file", "a chunk"))
