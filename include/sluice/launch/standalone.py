"""Drivers that take their cores from a standalone cluster: the driver stays here, under a keeper; executors are there.

What runs, ends and dies is the driver's process, so the keeper's proof of death holds: only the driver commits, to
tables and checkpoints. An executor notices within moments that its driver is gone, and what it still writes until then
no commit names; it can repeat a file of state, with what the next attempt of the same planned batch writes into it.

Beside that, the launcher checks the cluster's capacity before it starts anything.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from sluice.errors import NotReadyError
from sluice.launch.launcher import LocalLauncher
from sluice.launch.master import leading_capacity
from sluice.launch.master_address import MasterAddress
from sluice.streams.failures.capacity import ResourceRequest, shortage
from sluice.streams.life.launcher import DriverReport, Launcher


def launcher_at(address: MasterAddress, drivers: Path, alive: dict[str, DriverReport]) -> Launcher:
    """Return what starts drivers that take their cores from a place."""
    capacity = partial(leading_capacity, address.pages, tls=address.tls) if address.standalone else None
    return LocalLauncher(drivers, alive=alive, capacity=capacity)


def require_capacity(address: MasterAddress, request: ResourceRequest) -> None:
    """Make sure that an application would find capacity: Spark would let it wait without a word.

    Raises:
        NotReadyError: it would not, now.
        UnreachableError: it is not known.
    """
    if address.standalone and (why := shortage(request, leading_capacity(address.pages, tls=address.tls))):
        raise NotReadyError(f"{why}.", fix="repeat it when there is capacity, or add workers to the cluster.")
