"""The embedded Kafka cluster: one broker or several, each in a failure domain of its own, on 127.0.0.1 only.

The first broker is the only controller: any other one may die and come back, and the cluster goes on. The first one's
folder is that of a cluster of one, so that a cluster grows around the records that there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sluice.clock import Clock
from sluice.devstack.kafka.admin import Administrator, administrator
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.devstack.kafka.java import java_command
from sluice.errors import NotReadyError, RefusedError, SpecError
from sluice.launch.ports import Ports
from sluice.settings import Settings, environment
from sluice.specs.deployments.kafka import EmbeddedKafka, ExternalKafka

MAX_BROKERS = 9


def broker_name(number: int) -> str:
    """Return a broker's name among the components, counted from 1."""
    return "broker" if number == 1 else f"broker-{number}"


def requested_brokers(settings: Settings, kafka: EmbeddedKafka | ExternalKafka, requested: int | None) -> int:
    """Return how many brokers there shall be, and keep it: the number requested, or that of last time, at first one.

    It is 0 where the deployment names an external cluster.

    Raises:
        SpecError: the deployment has a cluster of its own.
        RefusedError: there would be fewer brokers than have data.
    """
    if isinstance(kafka, ExternalKafka):
        if requested:
            raise SpecError(
                f"The deployment {settings.deployment!r} has brokers of its own, {', '.join(kafka.bootstrap)}.",
                fix="leave out --brokers, or choose another deployment with SLUICE_DEPLOYMENT.",
            )
        return 0
    kept = settings.folder.supervisor / "brokers"
    last = int(kept.read_text(encoding="utf-8")) if kept.exists() else 1
    wanted = last if requested is None else requested
    holding = [n for n in range(wanted + 1, MAX_BROKERS + 1) if (_folder(settings, n) / "data").exists()]
    if holding:
        names = ", ".join(broker_name(number) for number in holding)
        raise RefusedError(
            f"{wanted} brokers were requested, and {names} may hold replicas that no other broker has.",
            fix=f"leave it at {last}; or, if all of their records may go, remove "
            f"{', '.join(str(_folder(settings, number)) for number in holding)} first.",
        )
    kept.write_text(str(wanted), encoding="utf-8")
    return wanted


def _folder(settings: Settings, number: int) -> Path:
    return settings.folder.kafka if number == 1 else settings.folder.kafka / broker_name(number)


def embedded_brokers(
    settings: Settings, kafka: EmbeddedKafka | ExternalKafka, ports: Ports, *, secured: bool = False
) -> KafkaCluster:
    """Return the cluster of a state folder's stack, with a broker for each port; without one if it is external.

    The administrator of a secured cluster, which asks who connects, is drawn the first time.

    Raises:
        CorruptionError: the administrator's file cannot be understood.
        OSError: it cannot be written.
    """
    if isinstance(kafka, ExternalKafka):
        return KafkaCluster(())
    java = java_command(environment().get("JAVA_HOME", ""))
    first, count = _folder(settings, 1), 1 + len(ports.further_brokers)
    admin = administrator(first) if secured else None
    return KafkaCluster(
        tuple(
            BrokerProcess(
                _folder(settings, number),
                port,
                ports.controller,
                settings.jars,
                kafka.heap,
                java,
                number=number,
                cluster=count,
                first=None if number == 1 else first,
                admin=admin,
            )
            for number, port in enumerate((ports.kafka, *ports.further_brokers), start=1)
        )
    )


@dataclass(frozen=True)
class KafkaCluster:
    """Brokers, the controller first; none where the cluster is external."""

    brokers: tuple[BrokerProcess, ...]

    @property
    def bootstrap(self) -> tuple[str, ...]:
        """Return host:port of each broker."""
        return tuple(broker.bootstrap for broker in self.brokers)

    @property
    def admin(self) -> Administrator | None:
        """Return the administrator; None if clients are not authenticated."""
        return self.brokers[0].admin if self.brokers else None

    @property
    def by_name(self) -> Mapping[str, BrokerProcess]:
        """Return the brokers by their names among the components."""
        return {broker_name(broker.number): broker for broker in self.brokers}

    def wait_ready(self, deadline_seconds: float, clock: Clock) -> None:
        """Return once every broker answers and is listed, and has let its administrator in if it has one.

        Raises:
            NotReadyError: one did not in time, or its log says that it never will.
        """
        end = clock.monotonic() + deadline_seconds
        for broker in self.brokers:
            left = end - clock.monotonic()
            if left <= 0:
                raise NotReadyError(
                    f"The broker at {broker.bootstrap} did not answer in time.", fix=f"read {broker.log}."
                )
            broker.wait_ready(left, clock)
        if self.admin is not None:
            self.admin.admit()
