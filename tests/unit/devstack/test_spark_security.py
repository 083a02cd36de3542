"""The files by which the parts of a secured cluster know each other."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from sluice.clock import SystemClock
from sluice.devstack.kafka.authority import ensure_certificates
from sluice.devstack.spark_cluster import SparkCluster
from sluice.devstack.spark_security import ClusterSecurity
from sluice.errors import NotReadyError

SECRET, STORE = "spark.authenticate.secret", "spark.ssl.standalone.keyStore"


def made(folder: Path) -> ClusterSecurity:
    ensure_certificates(folder / "kafka", SystemClock().now())
    security = ClusterSecurity(folder / "settings", folder / "kafka", folder / "sluice-0.jar")
    security.prepare()
    return security


def properties(file: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in file.read_text().splitlines())


def test_drivers_and_the_cluster_have_one_secret_and_encrypt(tmp_path: Path) -> None:
    security = made(tmp_path)
    drivers, cluster = properties(security.folder / "spark-defaults.conf"), properties(security.settings)
    assert cluster.items() > drivers.items()
    assert len(drivers[SECRET]) >= 43
    assert (drivers["spark.authenticate"], drivers["spark.network.crypto.enabled"]) == ("true", "true")
    assert drivers["spark.network.crypto.saslFallback"] == "false"
    assert "GCM" in drivers["spark.network.crypto.cipher"]
    assert cluster["spark.ssl.standalone.needClientAuth"] == "true"
    assert Path(cluster[STORE]).is_file()
    assert not any("ssl" in name for name in drivers)


def test_nobody_else_may_read_them(tmp_path: Path) -> None:
    security = made(tmp_path)
    assert security.folder.stat().st_mode & 0o077 == 0
    for name in ("spark-defaults.conf", "cluster.conf", "secret", "own.pem"):
        assert (security.folder / name).stat().st_mode & 0o077 == 0
    assert (security.folder / "stores").stat().st_mode & 0o077 == 0


def test_the_secret_stays_and_certificates_are_taken_again(tmp_path: Path) -> None:
    security = made(tmp_path)
    before = properties(security.settings)
    other = made(tmp_path / "other")
    for file in (tmp_path / "other" / "kafka" / "tls").iterdir():
        (tmp_path / "kafka" / "tls" / file.name).write_bytes(file.read_bytes())
    security.prepare()
    assert properties(security.settings)[SECRET] == before[SECRET] != properties(other.settings)[SECRET]
    assert (security.folder / "own.pem").read_bytes() == (other.folder / "own.pem").read_bytes()


def test_the_page_is_asked_with_the_brokers_certificate(tmp_path: Path) -> None:
    tls = made(tmp_path).tls
    context = ssl.create_default_context(cafile=tls.ca)
    assert tls.certificate is not None
    context.load_cert_chain(tls.certificate)


@pytest.mark.parametrize("name", ["plain", "with a blank"])
def test_sparks_own_script_is_there_unless_it_would_cut_its_path_in_two(tmp_path: Path, name: str) -> None:
    assert (made(tmp_path / name).folder / "spark-env.sh").exists() == (name == "plain")


def test_without_the_brokers_certificate_there_is_no_cluster(tmp_path: Path) -> None:
    security = ClusterSecurity(tmp_path / "settings", tmp_path / "kafka", tmp_path / "sluice-0.jar")
    with pytest.raises(NotReadyError, match=r"ca\.pem is not there"):
        SparkCluster(tmp_path / "spark", 7077, 8081, 1, "true", security).prepare(forget=True)
