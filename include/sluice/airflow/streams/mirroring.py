"""Shows positions of streams in consumer groups, for tools that read them there. Nothing of Sluice ever reads them.

Spark keeps its position in the checkpoint and commits to no group. The watcher has just read it anyway; it is
written only when it has changed, and whatever goes wrong is a warning: no verdict depends on it, and no stream knows.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from sluice.clock import Clock, SystemClock
from sluice.errors import SluiceError
from sluice.project.project import Project
from sluice.specs.model.access import Role
from sluice.specs.model.sources import table_of
from sluice.streams.health.observation import Observation
from sluice.topics.administration import KafkaAdministration

log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 2.0
_BETWEEN_WARNINGS_SECONDS = 60.0


class Mirrors:
    """The groups that this process has written. It may forget them at any time: then it writes them once more."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._written: dict[str, Mapping[str, int]] = {}
        self._warned_at: float | None = None

    def mirror(self, project: Project, observations: Mapping[str, Mapping[str, Observation]]) -> None:
        """Write the positions that have changed. Raises nothing. A cluster that is silent is not asked again."""
        changed = {
            group: offsets
            for stream, group in project.catalog.mirrored
            if stream.pipeline is not None
            and (seen := observations.get(stream.pipeline.driver, {}).get(stream.name)) is not None
            and (offsets := {p: o for p, o in (seen.committed or {}).items() if table_of(p) is None})
            and seen.ends is not None
            and offsets != self._written.get(group)
        }
        if not changed:
            return
        try:
            with project.kafka.administration(Role.WATCHER, patience_seconds=_PATIENCE_SECONDS) as cluster:
                for group, offsets in changed.items():
                    self._write(cluster, group, offsets)
        except Exception as error:  # noqa: BLE001 - whatever a cluster does, verdicts go on
            self._warn(f"{type(error).__name__}: {error}")

    def _write(self, cluster: KafkaAdministration, group: str, offsets: Mapping[str, int]) -> None:
        try:
            cluster.set_group(group, offsets)
        except SluiceError as error:
            self._warn(str(error))
        else:
            self._written[group] = dict(offsets)

    def _warn(self, why: str) -> None:
        now = self._clock.monotonic()
        if self._warned_at is None or now - self._warned_at >= _BETWEEN_WARNINGS_SECONDS:
            self._warned_at = now
            log.warning("A stream's position could not be shown in its consumer group; it is tried again. %s", why)
