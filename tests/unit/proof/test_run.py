"""What a proof says when the disk is full, and when what a killed one has left cannot be removed yet."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sluice.clock import SystemClock
from sluice.errors import NotReadyError, UnreachableError
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.launch.keeper import start_ticks
from sluice.launch.processes import marked, wait_until
from sluice.project.project import Project
from sluice.proof.findings import ProofVerdict
from sluice.proof.journal import SendJournal
from sluice.proof.judgement import Proof
from sluice.proof.observations import Observations
from sluice.proof.running import batches, run
from sluice.proof.running.batches import PROOF_MARK, run_batch
from sluice.proof.running.place import ProofPlace
from sluice.proof.running.request import ProofRequest, ProvenRun
from sluice.proof.running.run import proofs_of, prove, remove_leftovers
from sluice.settings import Settings, settings
from sluice.streams.life.launcher import Job


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


def left_behind(project: Project) -> ProofPlace:
    """Return the place of a proof whose process is gone."""
    place = ProofPlace(
        proofs_of(project) / "1234", {"flights": "prove_1234_flights"}, "departures", {"news": "prove_1234_news"}
    )
    place.record()
    dead = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    entry = json.loads((place.root / "proof.json").read_bytes()) | {"pid": dead.pid, "ticks": start_ticks(dead.pid)}
    dead.communicate()
    (place.root / "proof.json").write_text(json.dumps(entry), encoding="utf-8")
    return place


def test_what_cannot_be_removed_yet_stays_on_record(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    place = left_behind(project)

    def fail(*_: object, **__: object) -> None:
        raise UnreachableError("Kafka is silent.")

    said: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(run, "_remove", fail)
        assert remove_leftovers(project, said.append) == 1
    assert said[1] == f"  what the proof {place.root.name} used stays for now: Kafka is silent."
    assert (place.root / "proof.json").exists()
    again: list[ProofPlace] = []
    monkeypatch.setattr(run, "_remove", lambda _, found, **__: again.append(found))
    assert remove_leftovers(project, said.append) == 1
    assert again == [place]


def shown(verdict: ProofVerdict) -> ProvenRun:
    return ProvenRun(Proof(verdict, (), {}), SendJournal(()), Observations(), (), ())


def test_the_verdict_is_kept_though_nothing_can_be_removed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise UnreachableError("Kafka is silent.")

    monkeypatch.setattr(run, "_proven", lambda *_, **__: shown(ProofVerdict.BROKEN))
    monkeypatch.setattr(run, "_remove", fail)
    said: list[str] = []
    spec, asked = project.catalog.pipelines["departures"], ProofRequest(1, 5)
    place, found = prove(project, spec, asked, said.append, lambda where, _: where.report.write_text("kept"))
    assert found.proof.verdict is ProofVerdict.BROKEN
    assert place.report.read_text() == "kept"
    assert said == [f"  what the proof {place.root.name} used stays for now: Kafka is silent."]


@pytest.mark.parametrize("error", [UnreachableError("the batch took too long"), NotReadyError("it has died")])
def test_what_an_error_names_is_kept(
    project: Project, monkeypatch: pytest.MonkeyPatch, error: UnreachableError | NotReadyError
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    kept: list[bool] = []
    monkeypatch.setattr(run, "_proven", fail)
    monkeypatch.setattr(run, "_remove", lambda *_, keep: kept.append(keep))
    with pytest.raises(type(error)):
        prove(project, project.catalog.pipelines["departures"], ProofRequest(1, 5), print)
    assert kept == [True]


@pytest.mark.parametrize(
    ("report", "is_evidence"),
    [(None, False), ("{", False), ("[]", False), ('{"verdict": "proven"}', False), ('{"verdict": "broken"}', True)],
)
def test_what_is_left_of_a_proof_that_was_judged_is_kept_unless_it_proves(
    project: Project, monkeypatch: pytest.MonkeyPatch, report: str | None, is_evidence: bool
) -> None:
    place = left_behind(project)
    if report is not None:
        place.report.write_text(report, encoding="utf-8")
    kept: list[bool] = []
    monkeypatch.setattr(run, "_remove", lambda *_, keep: kept.append(keep))
    assert remove_leftovers(project, print) == 1
    assert kept == [is_evidence]


BATCH = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE).wait()
"""


def test_a_batch_that_takes_too_long_is_said_in_words_and_ends_with_all_that_it_has_started(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job((sys.executable, "-c", BATCH), folder=project.folder.root)
    monkeypatch.setattr(type(project.processes), "batch", lambda *_: job)
    monkeypatch.setattr(batches, "BATCH_SECONDS", 2.0)
    project.folder.root.mkdir(parents=True, exist_ok=True)
    seen: list[int] = []
    with ThreadPoolExecutor(1) as pool:
        batch = pool.submit(run_batch, project, "departures", ("due",), "due.log")
        mark = PROOF_MARK, str(project.settings.state)
        assert wait_until(lambda: len(marked(*mark)) > 1, SystemClock(), deadline_seconds=30)
        seen += marked(*mark)
        with pytest.raises(UnreachableError, match="the batch `due` of a proof took more than 2 s"):
            batch.result()
    assert len(seen) == 2
    assert marked(*mark) == []
    assert (project.folder.backfills / "due.log").exists()
