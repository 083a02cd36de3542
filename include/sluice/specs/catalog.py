"""All specs of a project, together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sluice.specs.model import DeploymentSpec, FeedSpec, PipelineSpec, TopicSpec


@dataclass(frozen=True)
class Unit:
    """The streams that share a driver: one key, attempt, generation and stop; verdicts stay per stream.

    Attributes:
        name: the driver's name in the specs.
        topics: names of the topics whose raw tables it fills.
        pipelines: names of the pipelines that it runs.
    """

    name: str
    topics: tuple[str, ...]
    pipelines: tuple[str, ...]

    @property
    def streams(self) -> tuple[str, ...]:
        """Stream names: `raw_<topic>` and the pipelines' own."""
        return (*(f"raw_{topic}" for topic in self.topics), *self.pipelines)


@dataclass(frozen=True)
class Catalog:
    """Specs by name. Built by `sluice.specs.load`, which guarantees that every reference resolves."""

    topics: Mapping[str, TopicSpec] = field(default_factory=dict)
    pipelines: Mapping[str, PipelineSpec] = field(default_factory=dict)
    feeds: Mapping[str, FeedSpec] = field(default_factory=dict)
    deployments: Mapping[str, DeploymentSpec] = field(default_factory=dict)

    def units(self) -> dict[str, Unit]:
        """Group streams by the driver that they name, ordered by name."""
        drivers = {t.raw.driver for t in self.topics.values()} | {p.driver for p in self.pipelines.values()}
        return {
            driver: Unit(
                name=driver,
                topics=tuple(sorted(n for n, t in self.topics.items() if t.raw.driver == driver)),
                pipelines=tuple(sorted(n for n, p in self.pipelines.items() if p.driver == driver)),
            )
            for driver in sorted(drivers)
        }
