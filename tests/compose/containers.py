"""The containers of docker-compose.yaml, built and run from a copy of this project, under a name of their own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import httpx

from sluice.clock import SystemClock
from sluice.errors import SluiceError
from tests.integration.brokers import free_ports

ROOT = Path(__file__).resolve().parents[2]
NAME = "sluice-trial"
"""Of the Compose project and of its images: neither is that of a user's own installation."""
PROFILES = ("--profile", "metrics", "--profile", "live")
ONE_OF_EACH_IMAGE = ("runner", "postgres", "prometheus")
RECOVERY_SECONDS = 420.0
NEEDS = "The containers need a Docker engine with its plugins `compose` 2.24 or newer and `buildx`: "

T = TypeVar("T")


class ContainersError(Exception):
    """Docker refused, or something did not become true in time."""


@dataclass(frozen=True)
class ContainerState:
    """What the engine says of a container.

    Attributes:
        id: its number.
        status: such as `running`, `paused` or `exited`.
        health: what its check says; empty if it has none.
        restarts: how often the engine has started it again.
        started: when it was started last, as text.
        exit_code: of its last end.
        addresses: network → address.
    """

    id: str
    status: str
    health: str
    restarts: int
    started: str
    exit_code: int
    addresses: Mapping[str, str]


@dataclass
class Containers:
    """One installation.

    Attributes:
        home: the copy of the project.
        ports: variable → port on this machine.
    """

    home: Path
    ports: Mapping[str, str]
    _ids: dict[str, str] = field(default_factory=dict)

    @property
    def secrets(self) -> Path:
        """Where `containers/prepare.sh` has put what it drew."""
        return self.home / "containers" / "secrets"

    def compose(self, *arguments: str, deadline: float = 120, given: str | None = None) -> str:
        """Run `docker compose`, and return what it prints.

        Raises:
            ContainersError: it ended with another code than 0, or not in time.
        """
        return self.docker("compose", "--project-name", NAME, *PROFILES, *arguments, deadline=deadline, given=given)

    def docker(self, *arguments: str, deadline: float = 60, given: str | None = None) -> str:
        """Run `docker` without the variables of the person who runs this; raises what `compose` raises."""
        kept = {k: v for k, v in os.environ.items() if k.startswith("DOCKER_") or k in {"PATH", "HOME", "PYTHON_IMAGE"}}
        try:
            done = subprocess.run(
                ["docker", *arguments],
                cwd=self.home,
                env={**kept, **self.ports},
                input=given,
                stdin=subprocess.DEVNULL if given is None else None,
                capture_output=True,
                text=True,
                check=False,
                timeout=deadline,
            )
        except subprocess.TimeoutExpired:
            raise ContainersError(f"docker {' '.join(arguments)} has not ended within {deadline:.0f} s") from None
        if done.returncode:
            said = (done.stderr or done.stdout).strip()[-3000:]
            raise ContainersError(f"docker {' '.join(arguments)} ended with {done.returncode}: {said}")
        return done.stdout

    def run(self, service: str, *command: str, deadline: float = 60, given: str | None = None) -> str:
        """Run a command in a container, and return what it prints; raises what `compose` raises."""
        return self.compose("exec", "--no-TTY", service, *command, deadline=deadline, given=given)

    def python(self, service: str, code: str, *arguments: str, deadline: float = 60) -> str:
        """Run a script in a container that has Python, and return what it prints; raises what `compose` raises."""
        return self.run(service, "python", "-", *arguments, deadline=deadline, given=code)

    def services(self) -> list[str]:
        """Return the names of the services that keep running."""
        rows = self.compose("ps", "--format", "{{.Service}}").split()
        return sorted(set(rows))

    def state(self, service: str) -> ContainerState:
        """Ask the engine about the container of a service."""
        if service not in self._ids:
            self._ids[service] = self.compose("ps", "--all", "--quiet", service).strip()
        (found,) = json.loads(self.docker("inspect", self._ids[service]))
        state = found["State"]
        return ContainerState(
            found["Id"],
            state["Status"],
            (state.get("Health") or {}).get("Status", ""),
            found["RestartCount"],
            state["StartedAt"],
            state["ExitCode"],
            {name: each["IPAddress"] for name, each in found["NetworkSettings"]["Networks"].items()},
        )

    def unhealthy(self) -> list[str]:
        """Return each service that does not say that it is well, with what it is."""
        lines = self.compose(
            "ps", "--all", "--format", "{{.Service}} {{.State}} {{.Health}} {{.ExitCode}}"
        ).splitlines()
        rows = [[*line.split(" "), "", ""][:4] for line in lines if line]
        return [
            f"{service} is {state} {health}".strip()
            for service, state, health, code in rows
            if (state, health) != ("running", "healthy") and not (service == "migrate" and code == "0")
        ]

    def left(self) -> list[str]:
        """Return the containers, networks and volumes that the engine has of this installation."""
        label = f"label=com.docker.compose.project={NAME}"
        kinds = (("ps", "--all", "--format", "{{.Names}}"), ("network", "ls", "--format", "{{.Name}}"))
        kinds += (("volume", "ls", "--format", "{{.Name}}"),)
        return [name for kind in kinds for name in self.docker(*kind, "--filter", label).split()]


def eventually(what: str, ask: Callable[[], T | None], deadline_seconds: float = RECOVERY_SECONDS) -> T:
    """Ask until the answer is a true one, and return it. A question that fails is asked again.

    Raises:
        ContainersError: there was none in time; with the last answer or failure.
    """
    clock = SystemClock()
    end, last = clock.monotonic() + deadline_seconds, ""
    while True:
        try:
            if answer := ask():
                return answer
            last = repr(answer)
        except (ContainersError, SluiceError, httpx.HTTPError) as error:
            last = str(error)
        if clock.monotonic() >= end:
            raise ContainersError(f"within {deadline_seconds:.0f} s it did not become true that {what}: {last}")
        clock.sleep(1)


def missing() -> str:
    """Return what this machine lacks for the containers; empty if they can run here."""
    if shutil.which("docker") is None:
        return NEEDS + "there is no `docker` on PATH."
    for arguments in (("info",), ("compose", "version"), ("buildx", "version")):
        done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False, timeout=60)
        if done.returncode:
            return NEEDS + f"`docker {' '.join(arguments)}` says: {(done.stderr or done.stdout).strip()[-300:]}"
    return ""


@contextmanager
def installed(folder: Path) -> Iterator[Containers]:
    """Copy the project, draw its secrets and build its images; at the end nothing is left but the build's cache.

    Raises:
        ContainersError: an image could not be built.
    """
    home = _copied(folder / "project")
    airflow, live = free_ports(2)
    found = Containers(home, {"AIRFLOW_PORT": str(airflow), "LIVE_PORT": str(live)})
    found.compose("down", "--volumes", "--remove-orphans", deadline=180)  # of a run that was killed
    subprocess.run([home / "containers" / "prepare.sh"], check=True, capture_output=True, timeout=120)
    try:
        found.compose("build", *ONE_OF_EACH_IMAGE, deadline=1800)
        yield found
    finally:
        found.compose("down", "--volumes", "--remove-orphans", deadline=300)


def _copied(home: Path) -> Path:
    """Copy what an image is built from, and what Compose reads."""
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"]
    home.mkdir(parents=True)
    for name in (*kept, "containers", ".dockerignore"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, home / name, ignore=shutil.ignore_patterns("__pycache__", "secrets"))
        else:
            shutil.copy2(ROOT / name, home / name)
    text = (ROOT / "docker-compose.yaml").read_text(encoding="utf-8")
    (home / "docker-compose.yaml").write_text(re.sub(r"image: sluice\b", f"image: {NAME}", text), encoding="utf-8")
    return home
