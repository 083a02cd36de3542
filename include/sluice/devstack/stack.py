"""The embedded stack of a state folder: brokers, Airflow and, if asked for, a Spark cluster under supervisord.

It is up and down as a whole. `up` is idempotent: what runs is adopted, what is half there is completed, what was
started for other settings is started again. When it fails, what it started is ended again. `down` ends everything that
belongs to the state folder, by the mark that its processes carry; streams are stopped gracefully, and what is desired
of them stays as it is.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

from sluice import __version__
from sluice.clock import Clock, SystemClock
from sluice.devstack.airflow.api import AirflowApi
from sluice.devstack.airflow.configuration import (
    BATCH_POOL,
    BATCH_SLOTS,
    COMPONENTS,
    airflow_command,
    airflow_url,
    engine_environment,
    narrowed,
    stack_environment,
    write_configuration,
)
from sluice.devstack.kafka import security
from sluice.devstack.kafka.cluster import KafkaCluster, embedded_brokers, requested_brokers
from sluice.devstack.spark_cluster import MASTER, SparkCluster, embedded_cluster
from sluice.devstack.stack_faults import component_fault, unusable
from sluice.devstack.supervision import ALIVE, Program, ProgramState, Supervisor
from sluice.disk import disk_remedy
from sluice.errors import NotReadyError, UnreachableError
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.launch.engine import WarmEngine
from sluice.launch.launcher import LocalLauncher
from sluice.launch.ports import Ports, choose_ports, read_ports, reserved, stored_ports, write_ports
from sluice.launch.processes import STACK_MARK, end_marked, wait_until
from sluice.settings import Settings, StateFolder
from sluice.specs.deployments.deployment import DeploymentSpec
from sluice.specs.deployments.kafka import ExternalKafka
from sluice.specs.load import scan
from sluice.specs.reading.kinds import Kind

_BROKER_SECONDS = 90.0
_SPARK_SECONDS = 90.0
_MIGRATION_SECONDS = 300.0
_AIRFLOW_SECONDS = 600.0  # ten times what it takes, for machines whose processors others use too
_PARSE_SECONDS = 60.0
_STOP_SECONDS = 10
_SHUT_DOWN_SECONDS = 45.0
_DRAIN_SECONDS = 60.0

OnStep = Callable[[str, float | None], None]
"""Told the name of each step twice: with None when it begins, with its seconds when it is done."""


def up(
    settings: Settings,
    on_step: OnStep = lambda _name, _seconds: None,
    clock: Clock | None = None,
    *,
    spark_workers: int | None = None,
    brokers: int | None = None,
    secure: bool | None = None,
) -> Endpoints:
    """Bring the stack up, or complete it, and return where it answers.

    Args:
        settings: where things are.
        on_step: told of each step.
        clock: gives the time.
        spark_workers: of the embedded Spark cluster; 0: none; omitted: as last time, at first none.
        brokers: of the embedded Kafka cluster; omitted: as last time, at first one.
        secure: whether that cluster asks who connects; omitted: as last time, at first not.

    Raises:
        NotReadyError: a part did not come up; says which and why. What this call started is gone again.
        SpecError: the deployment's spec does not stand, or it has a cluster of its own.
        RefusedError: there would be fewer brokers than have data.
    """
    stack = Stack(settings, on_step, clock or SystemClock())
    with stack.exclusively():
        return stack.start(spark_workers, brokers, secure)


def down(settings: Settings, on_step: OnStep = lambda _name, _seconds: None, clock: Clock | None = None) -> None:
    """Stop the streams gracefully and end every process of the stack. Nothing to end is fine.

    Raises:
        UnreachableError: a driver could not be asked, or a process does not end.
    """
    stack = Stack(settings, on_step, clock or SystemClock())
    with stack.exclusively():
        stack.stop()


def component_states(settings: Settings, clock: Clock | None = None) -> dict[str, ProgramState]:
    """Return what supervisord says of each component; empty if the stack is not up."""
    folder = settings.folder
    supervisor = Supervisor(folder.supervisor, folder.logs, clock or SystemClock())
    return supervisor.states() if supervisor.is_up() else {}


class Stack:
    """The parts of one state folder's stack, and the steps between them."""

    def __init__(self, settings: Settings, on_step: OnStep, clock: Clock) -> None:
        self._settings = settings
        self._folder = settings.folder
        self._on_step = on_step
        self._clock = clock
        self._supervisor = Supervisor(self._folder.supervisor, self._folder.logs, clock)
        self._cluster: SparkCluster | None = None

    @contextlib.contextmanager
    def exclusively(self) -> Iterator[None]:
        """Keep other `up` and `down` of this state folder waiting."""
        try:
            self._folder.supervisor.mkdir(parents=True, exist_ok=True)
            lock = (self._folder.supervisor / "lock").open("w", encoding="utf-8")
        except OSError as error:
            raise unusable(self._folder.root, error) from error
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield
            except OSError as error:
                if not disk_remedy(error.errno):
                    raise
                raise unusable(self._folder.root, error) from error

    def start(
        self, spark_workers: int | None = None, brokers: int | None = None, secure: bool | None = None
    ) -> Endpoints:
        """See `up`."""
        deployment = self._deployment()
        secured = security.requested_security(self._settings, deployment.kafka, secure)
        count = requested_brokers(self._settings, deployment.kafka, brokers)
        if not security.is_stored(self._settings, secured):
            self.stop()  # a driver goes on with what it has read at its start
            security.store_security(self._settings, secured)
        with reserved(str(self._settings.state), self._is_up) as free:
            return self._start(deployment, self._ports(free, max(count, 1)), spark_workers)

    def _is_up(self, state: str) -> bool:
        folder = StateFolder(Path(state))
        return Supervisor(folder.supervisor, folder.logs, self._clock).is_up()

    def _start(self, deployment: DeploymentSpec, ports: Ports, spark_workers: int | None) -> Endpoints:
        kafka = deployment.kafka
        try:
            secured = security.is_secured(self._settings)
            write_configuration(self._settings, ports.airflow, secured=secured)
            brokers = embedded_brokers(self._settings, kafka, ports, secured=secured)
            self._cluster = embedded_cluster(self._settings, deployment.spark, ports, spark_workers, secured=secured)
            fresh = not self._adopt(brokers)
        except OSError as error:
            raise unusable(self._folder.root, error) from error
        try:
            if fresh:
                self._supervisor.start(self._programs(brokers), self._identity(brokers), self._environment())
            self._start_parts(brokers, url := airflow_url(ports.airflow, secured=secured))
        except BaseException:
            if fresh:
                self.end()
            raise
        bootstrap = kafka.bootstrap if isinstance(kafka, ExternalKafka) else brokers.bootstrap
        spark = (self._cluster.master, self._cluster.page) if self._cluster else ("", "")
        endpoints = Endpoints(bootstrap, url, *spark, kafka_secured=brokers.admin is not None)
        write_endpoints(self._folder, endpoints)
        return endpoints

    def stop(self) -> None:
        """See `down`."""
        self.end_airflow()
        self.end_drivers()
        self.end()

    def end_airflow(self) -> None:
        """End Airflow first: its reconciler would start again the streams that are about to be stopped."""
        if self._supervisor.is_up():
            with self._step("stop Airflow"):
                self._supervisor.stop_programs(COMPONENTS, _SHUT_DOWN_SECONDS)

    def end_drivers(self) -> None:
        """Let every driver finish its batch and exit, and the warm engine; kill it when it does not."""
        WarmEngine(self._folder.engines, self._clock).stop()
        launcher = LocalLauncher(self._folder.drivers, self._clock)

        def ended() -> bool:
            try:
                keys = [report.key for report in launcher.living()]
            except UnreachableError:  # one is being submitted right now
                return False
            if keys:
                with self._step("stop streams"), ThreadPoolExecutor(len(keys)) as pool:
                    list(pool.map(lambda key: launcher.stop(key, _DRAIN_SECONDS), keys))
            return not keys

        if not wait_until(ended, self._clock, deadline_seconds=2 * _DRAIN_SECONDS):
            raise UnreachableError(
                f"A driver in {self._folder.drivers} cannot be stopped.", fix="check its log and processes."
            )

    def end(self) -> None:
        """End everything that carries the stack's mark."""
        with self._step("stop the stack"):
            if self._supervisor.is_up():
                self._supervisor.shut_down(_SHUT_DOWN_SECONDS)
            end_marked(STACK_MARK, str(self._settings.state), self._clock, deadline_seconds=_STOP_SECONDS)
            self._folder.stack.unlink(missing_ok=True)

    def _deployment(self) -> DeploymentSpec:
        scanned = scan(self._settings.home / "include")
        scanned.refuse_broken(Kind.DEPLOYMENT, self._settings.deployment)
        return scanned.catalog.deployment(self._settings.deployment)

    def _ports(self, free: Callable[[int], bool], brokers: int) -> Ports:
        """Return the ports that the running stack has, or free ones: those of last time where possible."""
        path = self._folder.supervisor / "ports.json"
        kept = read_ports(path)
        if self._supervisor.is_up():
            with contextlib.suppress(KeyError):
                return stored_ports(kept, brokers)
            self.end()  # it has fewer brokers, or is of another version
        # What is left of a stack without its supervisord cannot be adopted, and would hold the ports.
        end_marked(STACK_MARK, str(self._settings.state), self._clock, deadline_seconds=_STOP_SECONDS)
        ports = choose_ports(kept, free, brokers)
        write_ports(path, ports)
        return ports

    def _programs(self, brokers: KafkaCluster) -> list[Program]:
        airflow = [Program(name, airflow_command(*arguments), _STOP_SECONDS) for name, arguments in COMPONENTS.items()]
        spark = self._cluster.commands().items() if self._cluster else ()
        # supervisord has one environment for all that it runs: brokers and Spark get their part of it.
        whole, kept = self._environment(), engine_environment(self._settings)
        cluster = [Program(name, narrowed(command, whole, kept), _STOP_SECONDS) for name, command in spark]
        kafka = [Program(name, narrowed(broker.command(), whole, kept), 30) for name, broker in brokers.by_name.items()]
        return [*kafka, *cluster, *airflow]

    def _environment(self) -> dict[str, str]:
        return stack_environment(self._settings, self._cluster.master if self._cluster else "")

    def _identity(self, brokers: KafkaCluster) -> str:
        """Return a digest of what the processes were started with, beside their commands."""
        environment = self._environment()
        ours = {name: value for name, value in environment.items() if name.startswith(("SLUICE_", "AIRFLOW_"))}
        configuration = (self._folder.airflow / "airflow.cfg").read_text(encoding="utf-8")
        listeners = security.security_properties(brokers.admin) if brokers.admin else ""
        meaning = json.dumps([__version__, _airflow_version(), ours, configuration, listeners], sort_keys=True)
        return hashlib.sha256(meaning.encode()).hexdigest()

    def _adopt(self, brokers: KafkaCluster) -> bool:
        """Whether supervisord runs what it should; one that runs something else is ended."""
        if not self._supervisor.is_up():
            return False
        if self._supervisor.runs(self._programs(brokers), self._identity(brokers)):
            return True
        self.end()
        return False

    def _start_parts(self, brokers: KafkaCluster, url: str) -> None:
        """Start the brokers and, while they start, bring Airflow's database up to date; then start Airflow."""
        migration = self._start_migration()
        try:
            if brokers.brokers:
                with self._step("Kafka broker" if len(brokers.brokers) == 1 else "Kafka brokers"):
                    self._start_brokers(brokers)
            if self._cluster is not None:
                with self._step("Spark cluster"):
                    self._start_cluster(self._cluster)
            if migration is not None:
                with self._step("Airflow database"):
                    self._finish_migration(migration)
        finally:
            if migration is not None and migration.poll() is None:
                migration.kill()
                migration.wait()
        airflow = AirflowApi(url, self._clock, place=self._settings)  # the brokers' certificate is there by now
        with self._step("Airflow"):
            self._supervisor.start_programs(COMPONENTS)
            self._wait_for_airflow(airflow)
            self._ensure_pool(airflow)
        if any((self._settings.home / "dags").glob("*.py")):
            with self._step("DAGs"):  # a folder whose files make no DAG is waited for in vain, and is no fault
                wait_until(airflow.has_parsed, self._clock, deadline_seconds=_PARSE_SECONDS)

    def _start_brokers(self, brokers: KafkaCluster) -> None:
        states = self._supervisor.states()
        for name, broker in brokers.by_name.items():
            if states[name] not in ALIVE:
                broker.prepare(engine_environment(self._settings))
                self._supervisor.start_programs([name])
        end = self._clock.monotonic() + _BROKER_SECONDS
        for name, broker in brokers.by_name.items():
            while not wait_until(broker.is_listening, self._clock, deadline_seconds=0.2):
                self._refuse_dead([name], late=self._clock.monotonic() > end)
        brokers.wait_ready(_BROKER_SECONDS, self._clock)

    def _start_cluster(self, cluster: SparkCluster) -> None:
        """Start what is missing of it. A new master remembers the applications of the last one while a driver lives."""
        states = self._supervisor.states()
        if states[MASTER] not in ALIVE:
            cluster.prepare(forget=not LocalLauncher(self._folder.drivers, self._clock).living())
        self._supervisor.start_programs([MASTER])
        self._wait_for(lambda: cluster.registered() >= 0, [MASTER])
        self._supervisor.start_programs(cluster.worker_names)
        self._wait_for(lambda: cluster.registered() >= cluster.workers, cluster.worker_names)

    def _wait_for(self, ready: Callable[[], bool], names: Sequence[str]) -> None:
        end = self._clock.monotonic() + _SPARK_SECONDS
        while not wait_until(ready, self._clock, deadline_seconds=0.2):
            self._refuse_dead(names, late=self._clock.monotonic() > end)

    @property
    def _migrated(self) -> Path:
        return self._folder.airflow / "migrated"

    def _start_migration(self) -> subprocess.Popen[bytes] | None:
        """Start the migration if the database is of another version of Airflow, or not there."""
        database = self._folder.airflow / "airflow.db"
        if database.exists() and self._migrated.exists() and self._migrated.read_text("utf-8") == _airflow_version():
            return None
        self._supervisor.stop_programs(COMPONENTS, _SHUT_DOWN_SECONDS)
        with self._supervisor.log("migration").open("wb") as log:
            return subprocess.Popen(
                airflow_command("db", "migrate"),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment(),
            )

    def _finish_migration(self, migration: subprocess.Popen[bytes]) -> None:
        try:
            code = migration.wait(_MIGRATION_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        if code != 0:
            raise self._fault(
                "migration", "of Airflow's database failed" if code else "of Airflow's database takes too long"
            )
        self._migrated.write_text(_airflow_version(), encoding="utf-8")

    def _wait_for_airflow(self, airflow: AirflowApi) -> None:
        end = self._clock.monotonic() + _AIRFLOW_SECONDS
        while unhealthy := airflow.unhealthy_components():
            late = self._clock.monotonic() > end
            self._refuse_dead(unhealthy if late else tuple(COMPONENTS), late=late)
            self._clock.sleep(0.3)

    def _ensure_pool(self, airflow: AirflowApi) -> None:
        """Create the batches' pool. A server that has just said it is healthy may need long for its first answer."""
        end = self._clock.monotonic() + _AIRFLOW_SECONDS
        while True:
            try:
                return airflow.ensure_pool(BATCH_POOL, BATCH_SLOTS, "Tasks that start Spark.")
            except UnreachableError:
                if self._clock.monotonic() > end:
                    raise
                self._clock.sleep(0.3)

    def _refuse_dead(self, names: Iterable[str], *, late: bool) -> None:
        """Raise for the first component that died too often or, when it is late, that is not ready."""
        states = self._supervisor.states()
        for name in names:
            if states[name] is ProgramState.FATAL:
                raise self._fault(name, "died while starting")
        if late:
            raise self._fault(next(iter(names)), "did not become ready in time")

    def _fault(self, name: str, what: str) -> NotReadyError:
        return component_fault(name, what, self._supervisor.log(name), self._folder)

    @contextlib.contextmanager
    def _step(self, name: str) -> Iterator[None]:
        begin = self._clock.monotonic()
        self._on_step(name, None)
        yield
        self._on_step(name, self._clock.monotonic() - begin)


def _airflow_version() -> str:
    return version("apache-airflow-core")
