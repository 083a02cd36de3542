"""The port to whatever runs a driver process: started under a key, found by the key, and the only witness of death.

Invariants:
* one key runs at most once, ever: a second submit is refused or finds the first;
* ENDED and LOST are proof of death; ABSENT says that the key was never submitted; nothing else is proof;
* a launcher that cannot check raises UnreachableError and never guesses;
* what has no capacity is not submitted, and its key is not spent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from sluice.streams.failures.capacity import ResourceRequest
from sluice.streams.failures.failure import Failure


class DriverState(StrEnum):
    """What the launcher knows about a key."""

    RUNNING = "running"
    ENDED = "ended"  # it exited, and the exit code is on record
    LOST = "lost"  # it is gone without an exit record (keeper and driver killed, machine restarted)
    ABSENT = "absent"  # nothing was ever submitted under this key


DEAD = frozenset({DriverState.ENDED, DriverState.LOST})
"""States that prove that no process of this key can act any more."""


@dataclass(frozen=True)
class Job:
    """A process to start. `argv` and `environment` never hold a secret.

    `resources` is what a cluster must have for it; None where no cluster is asked. `inherits` names the variables that
    the driver gets from the process that starts it, besides those that every process needs; they may hold passwords.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    resources: ResourceRequest | None = None
    inherits: frozenset[str] = frozenset()


@dataclass(frozen=True)
class DriverReport:
    """What `find` saw. Times are UTC; `exit_code` is negative for a signal, as in `subprocess`.

    `failure` is what the driver said before it ended, of which it may have had no time to say anything.
    """

    key: str
    state: DriverState
    pid: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    exit_code: int | None = None
    failure: Failure | None = None

    @property
    def dead(self) -> bool:
        """Whether this is proof of death."""
        return self.state in DEAD


class Launcher(Protocol):
    """Starts, finds and stops drivers by key. Every method may raise UnreachableError."""

    def submit(self, key: str, job: Job) -> DriverReport:
        """Start `job` under `key` and return its report; if the key exists, start nothing and return what is found.

        Returns only when a crash of the caller can no longer lose the process.

        Raises:
            NoCapacityError: it could only wait for capacity; nothing was started, and the key may be used later.
        """
        ...

    def shortage(self, job: Job) -> str:
        """Return why `job` would find no capacity now, as a clause; empty if it would, or if no cluster is asked."""
        ...

    def find(self, key: str) -> DriverReport:
        """Check once, without waiting."""
        ...

    def stop(self, key: str, deadline_seconds: float) -> DriverReport:
        """Ask the driver to finish its batch and exit; kill it after the deadline. Return the final report."""
        ...

    def kill(self, key: str) -> DriverReport:
        """Kill the driver at once and return the final report."""
        ...

    def log(self, key: str) -> Path:
        """Return the file with the driver's output."""
        ...
