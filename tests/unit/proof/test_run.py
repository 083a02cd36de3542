"""What a proof says when the disk is full, and when what a killed one has left cannot be removed yet."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sluice.errors import NotReadyError, UnreachableError
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.launch.keeper import start_ticks
from sluice.project.project import Project
from sluice.proof.running import run
from sluice.proof.running.batches import run_batch
from sluice.proof.running.place import ProofPlace
from sluice.proof.running.run import ProofRequest, proofs_of, prove, remove_leftovers
from sluice.settings import Settings, settings


@pytest.fixture
def project(tmp_path: Path) -> Project:
    place = Settings(home=settings().home, state=tmp_path / "state")
    write_endpoints(place.folder, Endpoints(("localhost:1",), airflow_url=""))
    return Project.open_strict(place)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_a_full_disk_is_said_in_words(project: Project, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, "as the kernel says")

    removed: list[ProofPlace] = []
    monkeypatch.setattr(run, "copy_project", fail)
    monkeypatch.setattr(run, "_remove", lambda _, place, **__: removed.append(place))
    expected = pytest.raises(NotReadyError, match=r"the disk of .* is full")
    with expected if number == errno.ENOSPC else pytest.raises(PermissionError):
        prove(project, project.catalog.pipelines["departures"], ProofRequest(1, 5), print)
    assert len(removed) == 1


def test_what_cannot_be_removed_yet_stays_on_record(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    place = ProofPlace(
        proofs_of(project) / "1234", {"flights": "prove_1234_flights"}, "departures", {"news": "prove_1234_news"}
    )
    place.record()
    dead = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    entry = json.loads((place.root / "proof.json").read_bytes()) | {"pid": dead.pid, "ticks": start_ticks(dead.pid)}
    dead.communicate()
    (place.root / "proof.json").write_text(json.dumps(entry), encoding="utf-8")

    def fail(*_: object, **__: object) -> None:
        raise UnreachableError("Kafka is silent.")

    said: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(run, "_remove", fail)
        assert remove_leftovers(project, said.append) == 1
    assert said[1] == "  it stays for now: Kafka is silent."
    assert (place.root / "proof.json").exists()
    again: list[ProofPlace] = []
    monkeypatch.setattr(run, "_remove", lambda _, found, **__: again.append(found))
    assert remove_leftovers(project, said.append) == 1
    assert again == [place]


def test_a_batch_that_takes_too_long_is_said_in_words(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("batch", 1)

    monkeypatch.setattr(subprocess, "run", late)
    with pytest.raises(UnreachableError, match="the batch `due` of a proof took more than 900 s"):
        run_batch(project, "departures", ("due",), "due.log")
    assert (project.folder.backfills / "due.log").exists()
