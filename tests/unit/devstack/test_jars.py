"""Fetching is played by a shell script in place of Java: it copies from a folder what a repository would give."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from sluice.devstack.jars import Jars
from sluice.errors import NotReadyError, RefusedError

CONTENT = {"spark/a-1.0.jar": b"spark", "kafka/b-2.0.jar": b"kafka"}

JAVA = """#!/bin/sh
case "$1" in
  -version) echo 'openjdk version "17.0.1"' ;;
  --list-modules) echo jdk.incubator.vector@17 ;;
  *) echo "$*" >> {calls}; cp -r {repository}/. .; echo ":: {said}" ;;
esac
"""


class Repository:
    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._calls = folder, folder / "calls"
        self.content, self.target, lock = folder / "repository", folder / "jars", folder / "lock"
        for name, data in CONTENT.items():
            (self.content / name).parent.mkdir(parents=True)
            (self.content / name).write_bytes(data)
        lock.mkdir()
        digests = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in CONTENT.items()]
        (lock / "jars.sha256").write_text("".join(digests))
        self.jars = Jars(self.target, lock)
        self.says("")
        monkeypatch.setenv("JAVA_HOME", str(folder))

    def says(self, said: str) -> None:
        java = self._folder / "bin" / "java"
        java.parent.mkdir(exist_ok=True)
        java.write_text(JAVA.format(calls=self._calls, repository=self.content, said=said))
        java.chmod(0o755)

    @property
    def calls(self) -> int:
        return len(self.arguments)

    @property
    def arguments(self) -> list[str]:
        """What each run of Ivy was given."""
        return self._calls.read_text().splitlines() if self._calls.exists() else []


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    return Repository(tmp_path, monkeypatch)


def test_what_was_never_fetched_is_missing(repository: Repository) -> None:
    assert set(repository.jars.missing()) == set(CONTENT)


def test_jars_are_fetched_once_and_verified(repository: Repository) -> None:
    assert repository.jars.ensure() == 2
    assert repository.jars.missing() == ()
    assert repository.jars.ensure() == 0
    assert repository.calls == 1
    assert (repository.target / "spark/a-1.0.jar").read_bytes() == b"spark"


def test_ivy_which_takes_parentheses_for_parts_of_a_pattern_is_given_no_path_of_the_folder(
    repository: Repository, tmp_path: Path
) -> None:
    jars = Jars(tmp_path / "a (copy) (" / "jars", repository.jars.lock)
    assert jars.ensure() == 2
    assert (jars.folder / "spark/a-1.0.jar").read_bytes() == b"spark"
    (arguments,) = repository.arguments
    assert "(copy)" not in arguments
    assert {path.name for path in jars.folder.iterdir()} == {"spark", "kafka", "verified.json"}


def test_jars_that_are_there_but_were_never_verified_are_verified_without_fetching(repository: Repository) -> None:
    repository.jars.ensure()
    (repository.target / "verified.json").unlink()
    assert len(repository.jars.missing()) == 2
    assert repository.jars.ensure() == 0
    assert repository.jars.missing() == ()
    assert repository.calls == 1


@pytest.mark.parametrize("damage", [b"", b"SPARK"])
def test_a_jar_that_changed_is_fetched_again(repository: Repository, damage: bytes) -> None:
    repository.jars.ensure()
    (repository.target / "spark/a-1.0.jar").write_bytes(damage)
    assert repository.jars.missing() == ("spark/a-1.0.jar",)
    assert repository.jars.ensure() == 1
    assert (repository.target / "spark/a-1.0.jar").read_bytes() == b"spark"


def test_a_jar_that_stays_another_one_is_refused_by_name_and_removed(repository: Repository) -> None:
    (repository.content / "kafka/b-2.0.jar").write_bytes(b"evil")
    with pytest.raises(RefusedError, match=r"kafka/b-2\.0\.jar has sha256 .* says "):
        repository.jars.ensure()
    assert not (repository.target / "kafka/b-2.0.jar").exists()
    assert "kafka/b-2.0.jar" in repository.jars.missing()


def test_a_new_lock_makes_the_old_verification_void(repository: Repository) -> None:
    repository.jars.ensure()
    lock = repository.jars.lock / "jars.sha256"
    lock.write_text(lock.read_text() + f"{hashlib.sha256(b'c').hexdigest()}  spark/c-1.jar\n")
    assert "spark/a-1.0.jar" in repository.jars.missing()


def test_a_repository_that_cannot_be_reached_is_said_with_its_reason(repository: Repository) -> None:
    (repository.content / "kafka/b-2.0.jar").unlink()
    repository.says("Server access error at url: connection refused")
    with pytest.raises(
        NotReadyError, match=r"1 of 2 jars could not be fetched, kafka/b-2\.0\.jar .*connection refused"
    ):
        repository.jars.ensure()


def test_without_java_nothing_is_fetched(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(repository.target))
    with pytest.raises(NotReadyError, match=r"cannot be fetched: JAVA_HOME is .* Fix: install a JDK 17"):
        repository.jars.ensure()
    assert repository.calls == 0


def test_another_lock_may_have_configurations_of_its_own(repository: Repository, tmp_path: Path) -> None:
    Jars(tmp_path / "peers", repository.jars.lock, ("spark", "kafka")).ensure()
    (arguments,) = repository.arguments
    assert "-confs spark kafka -types" in arguments
