"""What a process needs to connect is observed first: a client without its files says that nobody answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.errors import NotReadyError
from sluice.project.project import Project
from sluice.settings import Settings
from tests.unit.specs.bench import DEPLOYMENT_FILE, Bench, sound_project


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return sound_project(tmp_path / "project")


def project(bench: Bench, *settings: str) -> Project:
    bench.edit(DEPLOYMENT_FILE, "client.id: shop", "\n    ".join(["client.id: shop", *settings]))
    return Project.open_strict(Settings(home=bench.home, deployment="prod"))


def test_every_file_that_cannot_be_read_here_is_named(bench: Bench) -> None:
    there = bench.write("ca.pem", "a certificate")
    files = f"ssl.ca.location: {there}", f"ssl.keystore.location: {bench.home}/none.pem"
    with pytest.raises(NotReadyError, match=r"names: ssl\.keystore\.location \(/.*/none\.pem\)\.") as refusal:
        project(bench, "security.protocol: SSL", *files).kafka.client()
    assert "ca.location" not in str(refusal.value)


def test_files_that_are_there_are_passed_on(bench: Bench) -> None:
    there = bench.write("ca.pem", "a certificate")
    client = project(bench, "security.protocol: SSL", f"ssl.ca.location: {there}").kafka.client()
    assert client == {"client.id": "shop", "security.protocol": "SSL", "ssl.ca.location": str(there)}
