"""The embedded Spark cluster: a standalone master and workers from the pyspark wheel, on 127.0.0.1 only.

Like the broker's, its folder is all it has, and what runs its commands owns the processes: supervisord in a stack, a
fixture in tests. A master that is killed and started again reads from the folder which applications and workers it had,
and they come back to it at the same port; meanwhile executors work on.

A worker offers one core, so an executor has one, and memory for one executor.

In a stack that asks who connects, its parts ask too: see `sluice.devstack.spark_security`.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sluice.clock import Clock, SystemClock
from sluice.devstack.jars import own_jar
from sluice.devstack.kafka.java import FIX as JAVA_FIX
from sluice.devstack.kafka.java import java_command
from sluice.devstack.spark_authentication import AUTHENTICATION_FIRST
from sluice.devstack.spark_security import ClusterSecurity
from sluice.disk import disk_remedy
from sluice.errors import NotReadyError, SpecError, UnreachableError
from sluice.launch.master import read_capacity
from sluice.launch.master_address import LOCAL, cluster_settings
from sluice.launch.ports import HOST, Ports
from sluice.launch.processes import wait_until
from sluice.settings import LOCALE, Settings, environment
from sluice.specs.deployments.deployment import SparkPlace

MASTER = "spark-master"
"""The master's name among the components."""
WORKER_CORES = 1
WORKER_MEMORY = "1g"

_MASTER, _WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
_RECOVERY_SECONDS = 15
"""How long a restarted master waits for those that it had; what has not come back by then is forgotten."""
_WORKER_TIMEOUT_SECONDS = 20
_KEPT_SECONDS = 24 * 3600
"""How long a worker keeps what an ended application has left with it."""


def embedded_cluster(
    settings: Settings, spark: SparkPlace, ports: Ports, requested: int | None, *, secured: bool = False
) -> SparkCluster | None:
    """Return the cluster of a state folder's stack; None if it has none.

    The number of workers requested is kept; None is that of last time, at first none. A secured one asks who connects.

    Raises:
        SpecError: the deployment has a master of its own.
    """
    if spark.master != LOCAL:
        if requested:
            raise SpecError(
                f"The deployment {settings.deployment!r} has a Spark master of its own, {spark.master}.",
                fix="leave out --spark-workers, or choose another deployment with SLUICE_DEPLOYMENT.",
            )
        return None
    kept = settings.folder.supervisor / "spark_workers"
    if requested is None:
        requested = int(kept.read_text(encoding="utf-8")) if kept.exists() else 0
    kept.write_text(str(requested), encoding="utf-8")
    if not requested:
        return None
    folder, java = settings.folder, java_command(environment().get("JAVA_HOME", ""))
    security = ClusterSecurity(cluster_settings(folder), folder.kafka, own_jar(settings).path) if secured else None
    return SparkCluster(folder.spark, ports.spark, ports.spark_page, requested, java, security)


def worker_name(number: int) -> str:
    """Return a worker's name among the components, counted from 1."""
    return f"spark-worker-{number}"


@dataclass(frozen=True)
class SparkCluster:
    """A master and its workers.

    Attributes:
        folder: what the master remembers and what workers fetch; nothing outside it is written.
        port: where drivers and workers find the master.
        page_port: where the master shows its cluster, as a page and as JSON.
        workers: how many there are.
        java: the program to run, a name on PATH or a path.
        security: by what its parts know each other, and drivers; None: they ask nobody.
    """

    folder: Path
    port: int
    page_port: int
    workers: int
    java: str = "java"
    security: ClusterSecurity | None = None

    @property
    def master(self) -> str:
        """Return the address for drivers."""
        return f"spark://{HOST}:{self.port}"

    @property
    def page(self) -> str:
        """Return the address of the master's page."""
        return f"{'https' if self.security else 'http'}://{HOST}:{self.page_port}"

    @property
    def worker_names(self) -> tuple[str, ...]:
        """Return the workers' names among the components."""
        return tuple(worker_name(number) for number in range(1, self.workers + 1))

    def prepare(self, *, forget: bool) -> None:
        """Make the folders. `forget` what an earlier master remembers if no driver lives that it had.

        Raises:
            NotReadyError: Java is missing, or the folder cannot be written.
        """
        if shutil.which(self.java) is None:
            raise NotReadyError(f"The Spark cluster needs Java, and there is no {self.java}.", fix=JAVA_FIX)
        try:
            if forget:
                shutil.rmtree(self._memory, ignore_errors=True)
            for folder in (self._memory, *map(self._scratch, self.worker_names)):
                folder.mkdir(parents=True, exist_ok=True)
            if self.security is not None:
                self.security.prepare()
        except OSError as error:
            raise NotReadyError(
                f"The Spark cluster's folder {self.folder} cannot be written: {error.strerror}.",
                fix=disk_remedy(error.errno, "choose another state folder (SLUICE_STATE)."),
            ) from error

    def commands(self) -> Mapping[str, tuple[str, ...]]:
        """Return the arguments that run each component in the foreground until SIGTERM, the master's first."""
        return {MASTER: self._master(), **{name: self._worker(name) for name in self.worker_names}}

    def wait_ready(self, deadline_seconds: float = 60, clock: Clock | None = None) -> None:
        """Return once the master leads and all workers are registered.

        Raises:
            NotReadyError: that was not so in time.
        """
        clock = clock or SystemClock()
        if not wait_until(lambda: self.registered() >= self.workers, clock, deadline_seconds=deadline_seconds):
            registered = self.registered()
            what = "does not lead" if registered < 0 else f"has {registered} of {self.workers} workers"
            raise NotReadyError(
                f"The Spark master at {self.page} {what} after {deadline_seconds:.0f} s.",
                fix="read the logs of its components (`sluice logs`).",
            )

    def registered(self) -> int:
        """Return how many workers the master has; -1 if it does not lead, or does not answer."""
        try:
            return len(read_capacity(self.page, tls=self.security.tls if self.security else None).workers)
        except UnreachableError:
            return -1

    @property
    def _memory(self) -> Path:
        return self.folder / "recovery"

    def _scratch(self, worker: str) -> Path:
        return self.folder / worker

    def _master(self) -> tuple[str, ...]:
        options = {
            "spark.deploy.recoveryMode": "FILESYSTEM",
            "spark.deploy.recoveryDirectory": self._memory,
            "spark.deploy.recoveryTimeout": _RECOVERY_SECONDS,
            "spark.worker.timeout": _WORKER_TIMEOUT_SECONDS,
            "spark.master.rest.enabled": "false",  # it takes applications without authentication
            "spark.ui.killEnabled": "false",
        }
        place = ("--host", HOST, "--port", str(self.port), *self._page_at(self.page_port))
        return self._java("192m", options | self._page_options(self.page_port), _MASTER, *place)

    def _worker(self, name: str) -> tuple[str, ...]:
        options = {
            "spark.worker.timeout": _WORKER_TIMEOUT_SECONDS,  # it says that it lives four times within this
            "spark.worker.cleanup.enabled": "true",
            "spark.worker.cleanup.appDataTtl": _KEPT_SECONDS,
        }
        size = ("--cores", str(WORKER_CORES), "--memory", WORKER_MEMORY)
        place = ("--host", HOST, *self._page_at(0), "--work-dir", str(self._scratch(name)))
        return self._java("128m", options | self._page_options(0), _WORKER, *size, *place, self.master)

    def _page_at(self, port: int) -> tuple[str, ...]:
        """Return the arguments that say where a page answers: one that encrypts, by an option, see `_page_options`.

        Spark sends everybody from a second port there, which may be any.
        """
        if self.security is None:
            return ("--webui-port", str(port))
        return ("--webui-port", "0", "--properties-file", str(self.security.settings))

    def _page_options(self, port: int) -> dict[str, object]:
        return dict(self.security.page_option(port)) if self.security else {}

    def _java(self, heap: str, options: Mapping[str, object], main: str, *arguments: str) -> tuple[str, ...]:
        home = _spark_home()
        ours, asking = ([str(self.security.jar)], [AUTHENTICATION_FIRST]) if self.security else ([], [])
        return (
            "env",
            *(f"{name}={value}" for name, value in LOCALE.items()),
            f"SPARK_LOCAL_IP={HOST}",
            # A worker finds an executor's classes by these two, and hands them down to it.
            f"SPARK_HOME={home}",
            f"SPARK_SCALA_VERSION={_scala_version(home)}",
            self.java,
            f"-Xmx{heap}",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:+ExitOnOutOfMemoryError",
            *asking,
            *(f"-D{name}={value}" for name, value in options.items()),
            "-cp",
            ":".join([*ours, f"{home / 'jars'}/*"]),
            main,
            *arguments,
        )


def _scala_version(home: Path) -> str:
    """Return the version of Scala that Spark's jars carry in their names; a worker would look for a source tree."""
    core = next((home / "jars").glob("spark-core_*.jar"), None)
    if core is None:
        raise NotReadyError(f"There is no spark-core in {home / 'jars'}.", fix="run `make setup` again.")
    return core.name.removeprefix("spark-core_").partition("-")[0]


def _spark_home() -> Path:
    """Return the folder of the pyspark wheel, without importing it."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise NotReadyError("The Spark cluster runs from pyspark, which is not installed.", fix="run `make setup`.")
    return Path(spec.submodule_search_locations[0])
