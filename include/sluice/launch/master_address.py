"""Which master gives a driver its cores, and where that master shows what it has.

Asked in this order: the settings (`SLUICE_SPARK_MASTER`, which an Airflow connection may give), the deployment, the
cluster of the embedded stack, and last this machine's own cores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sluice.errors import NotReadyError
from sluice.launch.endpoints import Endpoints, read_endpoints
from sluice.launch.ports import HOST
from sluice.settings import StateFolder
from sluice.specs.deployments.deployment import PageTls, SparkPlace
from sluice.specs.deployments.masters import STANDALONE, masters_of

LOCAL = "local"
"""The master of a driver that takes its cores from this machine."""

_PAGE_PORT = 8080


@dataclass(frozen=True)
class MasterAddress:
    """A master, and the addresses of its pages: one for each that may lead; none where it is no standalone one.

    Attributes:
        master: as drivers name it.
        pages: their addresses.
        tls: the files by which pages that encrypt are known and asked; None: what the machine trusts.
        settings: the folder with the settings by which it knows its drivers; None: what the machine has, if anything.
    """

    master: str
    pages: tuple[str, ...] = ()
    tls: PageTls | None = None
    settings: Path | None = None

    @property
    def standalone(self) -> bool:
        """Whether a standalone cluster gives the cores."""
        return self.master.startswith(STANDALONE)


def cluster_settings(folder: StateFolder) -> Path:
    """Return the folder with the settings by which an embedded cluster that asks who connects knows its drivers."""
    return folder.spark / "settings"


def page_tls(settings: Path) -> PageTls:
    """Return the files in that folder by which the pages of the cluster are known and asked."""
    return PageTls(ca=str(settings / "authority.pem"), certificate=str(settings / "own.pem"))


def on_this_machine(master: str) -> bool:
    """Whether driver and executors share this machine and its disk: no cluster, or the embedded one."""
    if not master.startswith(STANDALONE):
        return master.startswith(LOCAL)
    return all(each.startswith(f"{HOST}:") for each in masters_of(master))


def master_address(setting: str, deployment: SparkPlace, folder: StateFolder) -> MasterAddress:
    """Return where drivers find their cores.

    Args:
        setting: the master that the settings name; empty if they name none.
        deployment: what its spec says.
        folder: the state folder, whose stack may have a cluster.
    """
    embedded = _embedded(lambda: read_endpoints(folder), cluster_settings(folder))
    declared = "" if deployment.master == LOCAL else deployment.master
    master = setting or declared or embedded.master
    if not master.startswith(STANDALONE):
        return MasterAddress(master)
    if master == embedded.master:
        return embedded
    if master == declared and deployment.pages:
        return MasterAddress(master, deployment.pages, deployment.tls)
    hosts = [each.rpartition(":")[0] for each in masters_of(master)]
    return MasterAddress(master, tuple(f"http://{host}:{_PAGE_PORT}" for host in hosts))


def _embedded(endpoints: Callable[[], Endpoints], settings: Path) -> MasterAddress:
    try:
        known = endpoints()
    except NotReadyError:
        return MasterAddress(LOCAL)
    if not known.spark_master:
        return MasterAddress(LOCAL)
    if not known.spark_page.startswith("https:"):
        return MasterAddress(known.spark_master, (known.spark_page,))
    return MasterAddress(known.spark_master, (known.spark_page,), page_tls(settings), settings)
