"""Topics and principals of a project: what a plan compares, what its changes affect, and what follows a growth."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from sluice.clock import Clock
from sluice.devstack.kafka.security import is_secured
from sluice.errors import NotReadyError, SluiceError
from sluice.project.health import ProjectHealth
from sluice.project.kafka import ProjectKafka
from sluice.project.streams import ProjectStreams
from sluice.provisioning.access_scope import AccessScope
from sluice.provisioning.growth.adoption import FIX, Followed, Growth, GrowthAdoption, followed
from sluice.provisioning.growth.impact import ImpactAnalysis
from sluice.provisioning.plans.declared import Declared
from sluice.settings import Settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.deployments.deployment import DeploymentSpec
from sluice.streams.health.observation import Observation

if TYPE_CHECKING:
    from sluice.kafka.administration import KafkaPythonAdministration

NOT_ENFORCED = (
    "Principals are declared, and the embedded cluster does not authenticate clients, so access is not in this plan: "
    "`sluice up --secure` turns that on."
)
_POLL_SECONDS = 2.0


@dataclass(frozen=True)
class ProjectTopics:
    """Declared topics and principals of one deployment, what plans affect, and how streams adopt growths."""

    settings: Settings
    catalog: Catalog
    deployment: DeploymentSpec
    kafka: ProjectKafka
    streams: ProjectStreams
    health: ProjectHealth

    def declared(self) -> Declared:
        """Return the topics that the specs declare.

        Raises:
            SpecError: the topology file is missing, or not sound.
        """
        return Declared.of(self.catalog, self.deployment, self.settings.home / "include")

    def access(self) -> AccessScope | None:
        """Return the principals that the specs declare; None if there are none, or the cluster authenticates no client.

        Raises:
            NotReadyError: the embedded stack is not up.
        """
        if not self.catalog.access or self.leaves_access_open:
            return None
        return AccessScope(self.catalog, self.kafka.access(), self.kafka.password, service=self.kafka.spec.service)

    @property
    def leaves_access_open(self) -> bool:
        """Whether principals are declared for an embedded cluster that does not authenticate clients."""
        embedded = self.deployment.kafka.kind == "embedded"
        return bool(self.catalog.access) and embedded and not is_secured(self.settings)

    def impact_analysis(self, administration: KafkaPythonAdministration, now: datetime) -> ImpactAnalysis:
        """Return what analyses the impact of a plan's changes, at a time (UTC)."""
        from sluice.kafka.newest_keys import KafkaPythonKeyReader  # noqa: PLC0415 - see `Project`

        keys, streams = KafkaPythonKeyReader(administration), self.streams
        return ImpactAnalysis(self.catalog, administration, keys, streams.positions, now, streams.keeps_state)

    def with_unread(self, growth: Growth) -> Growth:
        """Return a growth with what the streams have yet to read now; without it where that cannot be observed."""
        try:
            seen = dict(self._readers(growth.topic))
        except SluiceError:
            return growth
        unread: Mapping[str, int] = {s: e.lag_records for s, e in seen.items() if e.lag_records is not None}
        return replace(growth, unread=unread)

    def adoption(self, growths: Iterable[Growth]) -> list[Followed]:
        """Return how each stream that reads one of the topics has taken its growth, by one observation.

        Raises:
            UnreachableError: what all observations need did not answer.
        """
        return [
            followed(growth, stream, seen, self.streams.checkpoint(stream).origin())
            for growth in growths
            for stream, seen in self._readers(growth.topic)
        ]

    def wait_for_adoption(
        self, growths: Collection[Growth], *, seconds: float, notify: Callable[[str], None], clock: Clock
    ) -> None:
        """Wait until the running streams read the new partitions and come nearer; `notify` gets every change.

        Raises:
            NotReadyError: the time is over; says of each stream that is waited for what was observed.
            UnreachableError: what all observations need did not answer.
        """
        until, before = clock.monotonic() + seconds, ""
        while True:
            adoption = self.adoption(growths)
            if (now := "; ".join(map(str, adoption))) != before:
                notify(now)
                before = now
            waiting = [each for each in adoption if each.state is GrowthAdoption.WAITS]
            if not waiting:
                return
            if clock.monotonic() >= until:
                raise NotReadyError(f"The topics have grown, and {'; '.join(map(str, waiting))}.", fix=FIX)
            clock.sleep(_POLL_SECONDS)

    def _readers(self, topic: str) -> Iterator[tuple[str, Observation]]:
        readers = {name for name, stream in self.catalog.streams.items() if topic in stream.topics}
        for name, unit in self.catalog.units().items():
            if readers & set(unit.streams):
                for stream, seen in self.health.observations(name).items():
                    if stream in readers:
                        yield stream, seen
