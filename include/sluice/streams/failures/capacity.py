"""Whether a cluster has capacity for a unit's driver: what it needs at least, against what is offered and what is free.

Spark's own answer to too little capacity is to wait, without a word that a user sees, and a driver that waits looks
like one that works. So capacity is checked before a driver is submitted, and what has none waits under its reserved
key.
"""

from __future__ import annotations

from dataclasses import dataclass

from sluice.errors import RefusedError
from sluice.wording import counted

ADVICE = "stop what uses them, or add workers (here: `sluice up --spark-workers N`); the reconciler starts it by itself"
"""What frees capacity, as a clause."""


@dataclass(frozen=True)
class Worker:
    """A living worker's cores, and what is free of them and of its memory."""

    cores: int
    free_cores: int
    free_mb: int


@dataclass(frozen=True)
class ResourceRequest:
    """What an application must get to move.

    Attributes:
        application: its name at the cluster.
        cores: so many at least.
        executor_mb: memory of each executor.
        requested_for: the streams that the cores are for, or another subject of "need".
        executor_cores: of each executor, of which a worker may have several; None: one, with what the worker has.
    """

    application: str
    cores: int
    executor_mb: int
    requested_for: tuple[str, ...]
    executor_cores: int | None = None

    def usable(self, worker: Worker) -> int:
        """Return how many of a worker's free cores its executors could have."""
        if self.executor_cores is None:
            return worker.free_cores if worker.free_mb >= self.executor_mb else 0
        return self.executor_cores * min(worker.free_cores // self.executor_cores, worker.free_mb // self.executor_mb)


@dataclass(frozen=True)
class Application:
    """What the cluster runs: by name, since several attempts of one unit have the same; and the cores that it holds."""

    name: str
    cores: int


@dataclass(frozen=True)
class ClusterCapacity:
    """What a cluster has at one moment."""

    address: str
    workers: tuple[Worker, ...]
    applications: tuple[Application, ...] = ()


@dataclass(frozen=True)
class NoCapacity:
    """A claim for which the cluster has no capacity: nothing is submitted, and the key stays reserved."""

    why: str


class NoCapacityError(RefusedError):
    """The cluster has no capacity for it now; nothing was submitted. Commands that start a unit exit with 3 then."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}.", fix=f"{ADVICE}.")


def minimum_cores(streams: int, allowed: int) -> int:
    """Return the cores without which a unit's streams wait for each other: one each, as far as it may have more."""
    return max(1, min(streams, allowed))


def shortage(request: ResourceRequest, capacity: ClusterCapacity) -> str:
    """Return why there is no capacity, as a clause; empty if there is.

    What an application of the same name still holds counts as free: the attempt is dead, and the cluster is about to
    notice.
    """
    left = sum(application.cores for application in capacity.applications if application.name == request.application)
    free = left + sum(map(request.usable, capacity.workers))
    if free >= request.cores:
        return ""
    others = [application for application in capacity.applications if application.name != request.application]
    subject = _listed(request.requested_for)
    size = f"{request.executor_mb} MB"
    if request.executor_cores is not None:
        size = f"{counted(request.executor_cores, 'core')} and {size}"
    least = f"{subject} need at least {counted(request.cores, 'core')} in executors of {size}"
    if len(request.requested_for) == 1:
        least = least.replace(" need ", " needs ", 1)
    cores = sum(worker.cores for worker in capacity.workers)
    offered = f"{counted(cores, 'core')} in {counted(len(capacity.workers), 'worker')}"
    free_cores = f"{free}{_unfit(request, capacity)}"
    users = ", ".join(f"{application.name} ({application.cores})" for application in others if application.cores)
    used = f"used by {users or 'no application'}"
    return f"{least}, the cluster {capacity.address} offers {offered}; free: {free_cores}, {used}"


def _unfit(request: ResourceRequest, capacity: ClusterCapacity) -> str:
    """Say how many cores are free that no executor of this size can have, and why."""
    cores = sum(worker.free_cores - request.usable(worker) for worker in capacity.workers)
    lack = "enough memory beside them" if request.executor_cores is None else "what else an executor needs beside them"
    return f" ({cores} more without {lack})" if cores else ""


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
