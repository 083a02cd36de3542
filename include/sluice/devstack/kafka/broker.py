"""An embedded broker: one KRaft node from jars, on 127.0.0.1 only.

Its folder is all it has: `prepare` writes the configuration and formats the data once; a restart, also on other ports,
finds its records again. The caller that runs `command()` owns the process: supervisord in a stack, a fixture in tests.
"""

from __future__ import annotations

import base64
import shutil
import socket
import subprocess
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sluice.clock import Clock, SystemClock
from sluice.devstack.kafka.admin import MECHANISM, USER, Administrator
from sluice.devstack.kafka.authority import ensure_certificates
from sluice.devstack.kafka.java import FIX as JAVA_FIX
from sluice.devstack.kafka.properties import property_value
from sluice.devstack.kafka.security import security_properties
from sluice.disk import disk_remedy
from sluice.errors import NotReadyError, UnreachableError
from sluice.kafka.access import KafkaPythonAccess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.client.login import LoginRefusedError
from sluice.launch.private import write_private
from sluice.provisioning.access.administration import Credential
from sluice.settings import LOCALE
from sluice.specs.model.access import Mechanism

_HOST = "127.0.0.1"
_ITERATIONS = 8192
_INTRODUCTION_SECONDS = 60.0
_SHUT_DOWN_SECONDS = 30.0

_SERVER_PROPERTIES = """\
process.roles={roles}
node.id={number}
broker.rack={rack}
controller.quorum.voters=1@{host}:{controller_port}
listeners={listeners}
advertised.listeners=CLIENTS://{host}:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=CLIENTS
{security}log.dirs={data}
auto.create.topics.enable=false
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor={replication}
offsets.topic.num.partitions=4
transaction.state.log.replication.factor={replication}
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor={replication}
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=4
group.initial.rebalance.delay.ms=0
metadata.max.idle.interval.ms=10000
num.network.threads=1
num.io.threads=2
num.recovery.threads.per.data.dir=1
log.cleaner.dedupe.buffer.size=8388608
"""

_LOGGING = """\
status = error
appender.file.type = RollingFile
appender.file.name = FILE
appender.file.fileName = {log}
appender.file.filePattern = {pattern}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{ISO8601}} %p %c{{1}} %m%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
rootLogger.level = warn
rootLogger.appenderRef.file.ref = FILE
logger.server.name = kafka.server.KafkaRaftServer
logger.server.level = info
"""

_FAULTS = {
    "No space left on device": ("the disk is full", "free some space, then start it again."),
    "Address already in use": ("another process listens on its port", "stop that process, or let it choose new ports."),
    "java.lang.OutOfMemoryError": ("its heap is too small", "raise kafka.heap in the deployment spec."),
}
"""What the log says → what it means, and what to do."""


@dataclass(frozen=True)
class BrokerProcess:
    """One broker. The first of a cluster is its only controller, too.

    Attributes:
        folder: configuration, log and data; nothing outside it is written.
        port: where clients connect.
        controller_port: where the first one's controller listens.
        jars: the folder that holds `kafka/*.jar` (`Settings.jars`).
        heap: largest Java heap, such as `256m`.
        java: the program to run, a name on PATH or a path.
        number: its id in the cluster, from 1.
        cluster: how many brokers there are.
        first: the folder of the first one, which knows the cluster's id; None: this is the first.
        admin: the administrator of a cluster that authenticates clients; None: it does not.
    """

    folder: Path
    port: int
    controller_port: int
    jars: Path
    heap: str = "256m"
    java: str = "java"
    number: int = 1
    cluster: int = 1
    first: Path | None = None
    admin: Administrator | None = None

    @property
    def rack(self) -> str:
        """Return its fault domain and its update domain, three of each: no two brokers in a row share either."""
        return f"{(self.number - 1) % 3}/{(self.number - 1 + (self.number - 1) // 3) % 3}"

    @property
    def bootstrap(self) -> str:
        """Return host:port for clients."""
        return f"{_HOST}:{self.port}"

    @property
    def client(self) -> Mapping[str, str]:
        """Return the settings with which Sluice connects, under Kafka's names."""
        return {} if self.admin is None else self.admin.client

    @property
    def log(self) -> Path:
        """Return the broker's own log: this start's and, in `.old`, the one before."""
        return self.folder / "broker.log"

    def prepare(self, environment: Mapping[str, str] | None = None) -> None:
        """Write the configuration and, the first time, format the data. Repeating it changes nothing.

        A cluster that has data and has not met its administrator runs for a moment to learn of it. Its processes get
        the environment given, or ours.

        Raises:
            NotReadyError: Java or the jars are missing, or formatting failed.
            CorruptionError: the certificates cannot be understood.
        """
        if shutil.which(self.java) is None:
            raise NotReadyError(f"The embedded broker needs Java, and there is no {self.java}.", fix=JAVA_FIX)
        if not any((self.jars / "kafka").glob("kafka_*.jar")):
            raise NotReadyError(f"The broker's jars are not in {self.jars / 'kafka'}.", fix="run `make setup`.")
        try:
            if self.admin is not None:
                ensure_certificates(self.admin.folder, SystemClock().now())
            if self.admin is not None and self.first is None and self.has_data() and not self.admin.is_admitted():
                self._introduce(self.admin, environment)
            self._configure()
            if not self.has_data():
                self._format(environment)
        except OSError as error:
            raise NotReadyError(
                f"The broker's folder {self.folder} cannot be written: {error.strerror}.",
                fix=disk_remedy(error.errno, "choose another state folder (SLUICE_STATE)."),
            ) from error

    def has_data(self) -> bool:
        """Whether its data is there: formatted, and perhaps with records."""
        return (self._data / "meta.properties").exists()  # the last file that formatting writes

    def command(self) -> tuple[str, ...]:
        """Return the arguments that run the broker in the foreground until SIGTERM."""
        return self._java(self.heap, "kafka.Kafka", str(self._properties))

    def is_listening(self) -> bool:
        """Tell whether anything accepts connections on the port."""
        try:
            with socket.create_connection((_HOST, self.port), timeout=1):
                return True
        except OSError:
            return False

    def wait_ready(self, deadline_seconds: float = 60, clock: Clock | None = None) -> None:
        """Return once the broker answers a metadata request.

        Raises:
            NotReadyError: it did not in time, or its log says that it never will.
        """
        clock = clock or SystemClock()
        deadline = clock.monotonic() + deadline_seconds
        # A client that is built before the port listens backs off for many seconds: probe first.
        while not (self.is_listening() and self._answers()):
            self._raise_fault()
            if clock.monotonic() >= deadline:
                raise NotReadyError(
                    f"The broker at {self.bootstrap} did not answer within {deadline_seconds:.0f} s.",
                    fix=f"read {self.log} and the output of its process.",
                )
            clock.sleep(0.1)

    def _answers(self) -> bool:
        try:
            with KafkaPythonAdministration((self.bootstrap,), self.client, patience_seconds=5) as administration:
                return self.number in administration.brokers()
        except LoginRefusedError as error:
            another = "" if self.admin is None else f"remove {self.admin.file} (another password is drawn), "
            raise NotReadyError(
                f"The broker at {self.bootstrap} is not the one that was configured. {error.message}",
                fix=f"run `sluice down`, {another}then run `sluice up`.",
            ) from error
        except UnreachableError:
            return False

    def _introduce(self, admin: Administrator, environment: Mapping[str, str] | None) -> None:
        """Tell a cluster that has data of its administrator: run it once more as it was, without authentication."""
        opened = replace(self, admin=None)
        opened.prepare()
        process = subprocess.Popen(
            opened.command(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        try:
            opened.wait_ready(_INTRODUCTION_SECONDS)
            with KafkaPythonAccess((self.bootstrap,)) as access:
                access.set_password(Credential(USER, Mechanism.SHA_512, _ITERATIONS), admin.password)
        finally:
            process.terminate()
            try:
                process.wait(_SHUT_DOWN_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _configure(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.log.exists() and not self.is_listening():
            self.log.replace(self.log.with_suffix(".log.old"))  # a fault found in the log is then this start's
        clients, controller = f"CLIENTS://{_HOST}:{self.port}", f"CONTROLLER://{_HOST}:{self.controller_port}"
        write_private(
            self._properties,
            _SERVER_PROPERTIES.format(
                host=_HOST,
                port=self.port,
                controller_port=self.controller_port,
                data=property_value(self._data),
                number=self.number,
                rack=self.rack,
                roles="broker" if self.first else "broker,controller",
                listeners=clients if self.first else f"{clients},{controller}",
                replication=min(3, self.cluster),
                security=security_properties(self.admin),
            ),
        )
        log = property_value(self.log)
        pattern = log.replace("%", "%%")  # Log4j's
        self._logging.write_text(_LOGGING.format(log=log, pattern=pattern), encoding="utf-8")

    def _raise_fault(self) -> None:
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        for sign, (meaning, fix) in _FAULTS.items():
            if sign in text:
                raise NotReadyError(f"The broker at {self.bootstrap} cannot run: {meaning} ({self.log}).", fix=fix)

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _properties(self) -> Path:
        return self.folder / "server.properties"

    @property
    def _logging(self) -> Path:
        return self.folder / "log4j2.properties"

    @property
    def _administrators(self) -> Path:
        return self.folder / "format.arguments"

    def _java(self, heap: str, main: str, *arguments: str) -> tuple[str, ...]:
        return (
            "env",
            *(f"{name}={value}" for name, value in LOCALE.items()),
            self.java,
            f"-Xmx{heap}",
            "-Xms64m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",  # half the CPU to start and for the first minute, 60 MB less
            "-XX:+ExitOnOutOfMemoryError",
            f"-Dlog4j2.configurationFile={self._logging.as_uri()}",
            "-cp",
            f"{self.jars / 'kafka'}/*",
            main,
            *arguments,
        )

    def _cluster_id(self) -> str:
        """Return the first broker's, or draw one."""
        if self.first is None:
            return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        lines = (self.first / "data" / "meta.properties").read_text(encoding="utf-8").splitlines()
        return next(line.removeprefix("cluster.id=") for line in lines if line.startswith("cluster.id="))

    def _format(self, environment: Mapping[str, str] | None) -> None:
        cluster_id = self._cluster_id()
        # With "=": an id may begin with a dash. The tool draws the directory's id itself.
        arguments = [f"--cluster-id={cluster_id}", f"--config={self._properties}"]
        if self.admin is not None and self.first is None:  # in a file: every user sees a process's arguments
            user = f"{MECHANISM}=[name={USER},iterations={_ITERATIONS},password={self.admin.password}]"
            write_private(self._administrators, f"--add-scram\n{user}\n")
            arguments.append(f"@{self._administrators}")
        try:
            done = subprocess.run(
                self._java("128m", "kafka.tools.StorageTool", "format", *arguments),
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            self._administrators.unlink(missing_ok=True)
        if done.returncode != 0:
            output = (done.stderr or done.stdout).strip()
            fix = next((fix for sign, (_, fix) in _FAULTS.items() if sign in output), "read the tool's message above.")
            raise NotReadyError(f"The broker's data in {self._data} could not be formatted: {output[-500:]}", fix=fix)
