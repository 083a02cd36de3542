"""The launcher where a standalone cluster gives the cores: the driver stays here, under a keeper; executors are there.

What runs, ends and dies is the driver's process, so the keeper's proof of death holds: only the driver commits, to
tables and checkpoints. An executor notices within moments that its driver is gone, and what it still writes until then
no commit names; it can repeat a file of state, with what the next attempt of the same planned batch writes into it.

Beside that, this launcher checks the cluster's capacity before it starts anything.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sluice.errors import NotReadyError
from sluice.launch.launcher import LocalLauncher
from sluice.launch.master import read_capacity
from sluice.launch.master_address import MasterAddress
from sluice.streams.failures.capacity import ClusterCapacity, NoCapacityError, ResourceRequest, shortage
from sluice.streams.life.launcher import DriverReport, DriverState, Job, Launcher


def launcher_at(address: MasterAddress, drivers: Path, alive: dict[str, DriverReport] | None = None) -> Launcher:
    """Return what starts drivers that take their cores from a place.

    Args:
        address: this machine or a cluster.
        drivers: the folder with what keepers know of drivers.
        alive: see `LocalLauncher`.
    """
    keeper = LocalLauncher(drivers, alive=alive)
    return StandaloneLauncher(keeper, lambda: read_capacity(address.page)) if address.standalone else keeper


def require_capacity(address: MasterAddress, request: ResourceRequest) -> None:
    """Make sure that an application would find capacity: Spark would let it wait without a word.

    Raises:
        NotReadyError: it would not, now.
        UnreachableError: it is not known.
    """
    if address.standalone and (why := shortage(request, read_capacity(address.page))):
        raise NotReadyError(f"{why}.", fix="repeat it when there is capacity, or add workers to the cluster.")


class StandaloneLauncher:
    """Implements `sluice.streams.life.launcher.Launcher`.

    Args:
        keeper: starts, finds and ends the drivers.
        capacity: asks the master; may raise UnreachableError.
    """

    def __init__(self, keeper: Launcher, capacity: Callable[[], ClusterCapacity]) -> None:
        self._keeper = keeper
        self._capacity = capacity

    def submit(self, key: str, job: Job) -> DriverReport:
        """Start `job` if there is capacity for it, or return what is found under its key.

        Raises:
            NoCapacityError: there is none; nothing was started, and the key may be used later.
            UnreachableError: it is not known whether there is.
        """
        found = self._keeper.find(key)
        if found.state is DriverState.ABSENT and (why := self.shortage(job)):
            raise NoCapacityError(why)
        return self._keeper.submit(key, job)

    def shortage(self, job: Job) -> str:
        """Ask the master and return why there is no capacity for a job, as a clause; empty if there is."""
        return "" if job.resources is None else shortage(job.resources, self._capacity())

    def find(self, key: str) -> DriverReport:
        """Look once, without waiting."""
        return self._keeper.find(key)

    def stop(self, key: str, deadline_seconds: float) -> DriverReport:
        """Ask the driver to finish its batch and exit; kill it after the deadline."""
        return self._keeper.stop(key, deadline_seconds)

    def kill(self, key: str) -> DriverReport:
        """Kill the driver at once. Its executors end when they miss it."""
        return self._keeper.kill(key)

    def log(self, key: str) -> Path:
        """Return the file with the driver's output; those of executors are with their workers."""
        return self._keeper.log(key)
