"""How the images are built: one base, hashed packages, nothing secret, nobody is root."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from sluice.settings import PACKAGE
from sluice.specs.code.closure import import_closure
from tests.unit.containers.compose_file import ROOT, SERVICES, dockerfile

IGNORED = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()


DOCKERFILES = (
    ROOT / "containers" / "Dockerfile",
    PACKAGE / "cli" / "scaffold" / "template" / "containers" / "Dockerfile.template",
)


def _stages(file: Path = DOCKERFILES[0]) -> dict[str, list[str]]:
    stages: dict[str, list[str]] = {}
    for line in dockerfile(file):
        if found := re.fullmatch(r"FROM (\S+) AS (\S+)", line):
            stages[found.group(2)] = [found.group(1)]
        elif stages:
            stages[list(stages)[-1]].append(line)
    return stages


def _copied(instructions: list[str]) -> set[str]:
    """Return what instructions copy from the repository."""
    copies = [line.split()[1:-1] for line in instructions if line.startswith("COPY ") and "--from=" not in line]
    return {path for paths in copies for path in paths}


def test_every_stage_begins_with_the_one_base_image_or_with_another_stage() -> None:
    stages = _stages()

    assert dockerfile()[0] == "ARG PYTHON_IMAGE=python:3.11-slim-bookworm"
    assert {stage[0] for stage in stages.values()} <= {"${PYTHON_IMAGE}", *stages}
    assert (
        {service["build"]["target"] for service in SERVICES.values()}
        == {"sluice", "postgres", "metrics"}
        <= set(stages)
    )


def test_no_instruction_pulls_a_frontend() -> None:
    assert not (ROOT / "containers" / "Dockerfile").read_text(encoding="utf-8").startswith("# syntax")


def test_an_image_is_built_with_all_that_the_wheel_shares() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    shared = {source.partition("/")[0] for source in build["targets"]["wheel"]["shared-data"]}
    assert {f"!{folder}" for folder in shared} <= set(IGNORED)


def test_an_image_runs_as_somebody_without_rights() -> None:
    users = {
        target: next(line for line in reversed(_stages()[target]) if line.startswith("USER "))
        for target in ("sluice", "postgres", "metrics")
    }

    assert users == {"sluice": "USER 10001:10001", "postgres": "USER postgres", "metrics": "USER prometheus"}


def test_what_is_run_by_number_is_the_user_that_owns_the_folders_that_it_writes() -> None:
    base = "\n".join(_stages()["base"])
    assert "useradd --uid 10001 --user-group" in base
    assert "install -d -o sluice -g sluice /data /var/lib/kafka /var/log/airflow" in base
    assert not re.search(r"chown|chmod (?!a-s)", "\n".join(dockerfile())), "code and packages belong to root"


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.name)
def test_no_program_of_an_image_takes_the_rights_of_another_user(file: Path) -> None:
    stages = _stages(file)
    for target in ("sluice", "postgres", "metrics"):
        lineage = [target]
        while stages[lineage[-1]][0] in stages:
            lineage.append(stages[lineage[-1]][0])
        steps = [line for stage in reversed(lineage) for line in stages[stage] if line.startswith("RUN ")]
        installs = [number for number, step in enumerate(steps) if "apt-get install" in step]
        assert installs, target
        _, _, after = steps[installs[-1]].rpartition("apt-get install")
        assert "find / -xdev -type f -perm /6000 -exec chmod a-s {} +" in after, target


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.name)
def test_the_base_is_one_argument_that_may_be_a_digest_and_is_never_whatever_is_newest(file: Path) -> None:
    instructions = dockerfile(file)
    (base,) = [line for line in instructions if line.startswith("ARG ")]
    name, _, image = base.removeprefix("ARG ").partition("=")
    assert name == "PYTHON_IMAGE"
    assert re.fullmatch(r"[a-z/]+:[0-9][\w.-]+(@sha256:[0-9a-f]{64})?", image)
    assert not [line for line in instructions if line.startswith("ADD ")], "ADD fetches and unpacks"
    sources = {line.split()[1] for line in instructions if line.startswith("FROM ")}
    copied = set(re.findall(r"--from=(\S+)", "\n".join(instructions)))
    assert sources | copied <= {"${PYTHON_IMAGE}", *_stages(file)}


def test_python_packages_are_installed_by_hash_alone() -> None:
    installs = re.findall(r"pip install [^&]*", "\n".join(dockerfile()))

    assert installs
    for install in installs:
        assert "--require-hashes" in install or "--no-deps --no-build-isolation --no-index -e ." in install


def test_what_is_copied_exists_and_reaches_the_build() -> None:
    kept = {line[1:] for line in IGNORED if line.startswith("!")}

    for path in _copied(dockerfile()) - {"."}:
        assert (ROOT / path).exists(), path
        assert path.split("/")[0] in kept, path


def test_the_stage_that_fetches_jars_holds_exactly_what_fetching_imports() -> None:
    needed = import_closure(ROOT / "include" / "sluice" / "devstack" / "jars.py", (ROOT / "include",))

    assert {str(path.relative_to(ROOT)) for path in needed} | {"include/sluice/jars"} == _copied(_stages()["jars"])


def test_nothing_reaches_the_build_that_is_not_named() -> None:
    assert IGNORED[1] == "*"
    assert "containers/secrets" in IGNORED
    assert not {"!.git", "!.env", "!.sluice", "!tests", "!.venv"} & set(IGNORED)


def test_no_secret_is_in_the_repository() -> None:
    ignored = (ROOT / "containers" / ".gitignore").read_text(encoding="utf-8").split()

    assert "/secrets/" in ignored
    assert ".env" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()
