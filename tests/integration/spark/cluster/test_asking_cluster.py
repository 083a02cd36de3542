"""The parts of a cluster in a secured stack work with each other, and answer nobody else; those of an open one do."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import psutil
import pytest

from benchmarks.machines.open_routes import Listener, open_routes
from sluice.clock import SystemClock
from sluice.devstack.jars import own_jar
from sluice.devstack.kafka.authority import ensure_certificates
from sluice.devstack.spark_authentication import AUTHENTICATE, ENCRYPT
from sluice.devstack.spark_cluster import SparkCluster
from sluice.devstack.spark_security import ClusterSecurity
from sluice.errors import UnreachableError
from sluice.launch.master import read_capacity
from sluice.settings import settings
from sluice.spark.session.preset import effective_settings
from sluice.spark.session.session import session_with
from sluice.specs.model.resources import Resources
from tests.integration.clusters import running_cluster

pytestmark = [pytest.mark.verify, pytest.mark.timeout(500)]

LARGE = 3_000_000
"""Bytes of a result that the driver fetches from a port of the executor's."""
PARTS = ("Master", "Worker", "CoarseGrainedExecutorBackend", "SparkSubmit")


@dataclass(frozen=True)
class Round:
    """What all that listens said to a stranger, by the part and its port; the length of a result; all command lines."""

    said: dict[tuple[str, int], list[str]]
    fetched: int
    commands: str


def javas(process: psutil.Process) -> dict[int, list[str]]:
    """Return the command lines of all Java processes below one, by their ids."""
    return {each.pid: each.cmdline() for each in process.children(recursive=True) if "java" in each.name()}


def asked(master: str, files: Path | None, warehouse: Path, others: frozenset[int]) -> Round:
    """Work on a cluster of the test's, and ask every Java of the test; in a process whose only session it is.

    Args:
        master: where the cluster is.
        files: the folder with its secrets, if it has any.
        warehouse: the session's.
        others: the Java processes of other tests.
    """
    known = {"spark.ui.enabled": "false", **AUTHENTICATE, **ENCRYPT} if files else {}
    found = effective_settings(
        Resources(cores=1), jars=settings().jars / "spark", warehouse=warehouse, master=master, overrides=known
    )
    spark = session_with("asking", found, files)
    try:
        row = spark.range(1, numPartitions=1).selectExpr(f"repeat('x', {LARGE}) AS text").collect()[0]
        own = {pid: line for pid, line in javas(psutil.Process(os.getppid())).items() if pid not in others}
        said = {}
        for pid, command in own.items():
            part = next((part for part in PARTS if any(word.endswith(f".{part}") for word in command)), "")
            for connection in psutil.Process(pid).net_connections("tcp"):
                if part and connection.status == psutil.CONN_LISTEN:
                    port = connection.laddr.port
                    said[part, port] = open_routes(Listener(port, part), {})
        return Round(said, len(row.text), "\n".join(" ".join(command) for command in own.values()))
    finally:
        spark.stop()


def round_of(tmp_path: Path, security: ClusterSecurity | None) -> Round:
    kind, others = partial(SparkCluster, security=security), frozenset(javas(psutil.Process()))
    own = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    with running_cluster(tmp_path / "cluster", 1, kind) as running, own as pool:
        if security is not None:
            with pytest.raises(UnreachableError, match="does not answer"):
                read_capacity(running.cluster.page)
        folder = None if security is None else security.folder
        return pool.submit(asked, running.cluster.master, folder, tmp_path / "warehouse", others).result(240)


def test_the_parts_of_a_secured_cluster_answer_each_other_and_nobody_else(tmp_path: Path) -> None:
    ensure_certificates(tmp_path / "kafka", SystemClock().now())
    security = ClusterSecurity(tmp_path / "settings", tmp_path / "kafka", own_jar(settings()).path)
    found = round_of(tmp_path, security)
    assert found.fetched == LARGE
    assert {part for part, _ in found.said} == set(PARTS)
    assert {part: said for part, said in found.said.items() if said} == {}
    secret, password = (security.folder / "secret").read_text(), (security.folder / "stores" / "password").read_text()
    assert secret not in found.commands
    assert password not in found.commands


def test_those_of_an_open_one_answer_everybody(tmp_path: Path) -> None:
    found = round_of(tmp_path, None)
    assert found.fetched == LARGE
    assert {part for (part, _), said in found.said.items() if said} == set(PARTS)
