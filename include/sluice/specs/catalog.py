"""All specs of a project, together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sluice.errors import SpecError
from sluice.specs.expectations import ExpectationsSpec
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
    """Specs by name. Built by `sluice.specs.load`, which guarantees that every reference resolves.

    Attributes:
        doubtful_suites: files of suites that are broken, with the pipeline that each guards; None where that is not
            certain. They are here so that no pipeline loses its gate by a slip in a file.
    """

    topics: Mapping[str, TopicSpec] = field(default_factory=dict)
    pipelines: Mapping[str, PipelineSpec] = field(default_factory=dict)
    feeds: Mapping[str, FeedSpec] = field(default_factory=dict)
    deployments: Mapping[str, DeploymentSpec] = field(default_factory=dict)
    expectations: Mapping[str, ExpectationsSpec] = field(default_factory=dict)
    doubtful_suites: Mapping[str, str | None] = field(default_factory=dict)

    def suite_of(self, pipeline: str) -> ExpectationsSpec | None:
        """Return the suite that guards a pipeline; None where none is declared.

        Raises:
            SpecError: it has none that is sound, and a broken one is or may be its own.
        """
        for suite in self.expectations.values():
            if suite.pipeline == pipeline:
                return suite
        broken = sorted(file for file, guarded in self.doubtful_suites.items() if guarded in (None, pipeline))
        if broken:
            raise SpecError(
                f"the pipeline {pipeline!r} has no sound suite, and {', '.join(broken)} is broken: without it, rows "
                "would be published that nobody has looked at.",
                fix="run `sluice check` and repair it.",
            )
        return None

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
