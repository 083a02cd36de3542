"""The settings of a topic at the brokers, and how they may change."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AfterValidator, ConfigDict, Field, field_validator

from sluice.specs.model.duration import Duration
from sluice.specs.model.spec import Name, Spec


class FailureDomains(Spec):
    """Replicas of a partition lie on as many values of each domain as there can be, and leaders are even."""

    model_config = ConfigDict(populate_by_name=True)

    failure_domains: tuple[Name, ...] = Field(alias="failure-domains", min_length=1)
    """Names of domains, such as `fault` and `update`. What they are at a broker, the deployment says."""

    @field_validator("failure_domains")
    @classmethod
    def _once(cls, domains: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(domains)) < len(domains):
            raise ValueError("a domain is named twice")
        return domains


Placement: TypeAlias = Literal["any", "balanced-leaders"] | FailureDomains
"""`any`: as Kafka places them, and they stay where they are; `balanced-leaders`: leaders are even over the brokers."""


Retention: TypeAlias = Duration | Literal["forever", "default"]
"""How long records are kept."""


def _without_retention(configs: dict[str, str | None]) -> dict[str, str | None]:
    if "retention.ms" in configs:
        raise ValueError("it sets retention.ms; declare it as `retention` instead")
    return configs


Configs: TypeAlias = Annotated[dict[str, str | None], AfterValidator(_without_retention)]
"""Topic configurations, under Kafka's names."""


class ShapeDifference(Spec):
    """What a topic is like in one deployment; what is omitted is as everywhere."""

    partitions: int | None = Field(default=None, ge=1, le=10_000)
    replication: int | None = Field(default=None, ge=1, le=32)
    retention: Retention | None = None
    placement: Placement | None = None
    protected: bool | None = None
    configs: Configs = Field(default_factory=dict)
    """Added to those that hold everywhere; of one name, this one holds."""


_DIFFERENT = ("partitions", "replication", "retention", "placement", "protected")


class TopicShape(Spec):
    """The settings of a topic at the brokers."""

    partitions: int = Field(ge=1, le=10_000)
    replication: int | None = Field(default=None, ge=1, le=32)
    """Omitted: what the deployment says."""
    retention: Retention = "forever"
    """`default`: the broker's, as long as nothing is set on the topic itself."""
    configs: Configs = Field(default_factory=dict)
    """Further topic configurations, under Kafka's names; `null`: the broker's default. What is set on the topic and is
    not named here stays as it is."""
    keyed: bool = True
    """Whether records of one key have to stay in order, which a topic that gets partitions cannot keep for a while."""
    owner: str | None = Field(default=None, min_length=1, max_length=200)
    """Who answers for it: a team, a person, an address."""
    placement: Placement = "any"
    """On which brokers its replicas lie."""
    protected: bool = False
    """No plan takes records from it, even if a user approves."""

    deployments: dict[Name, ShapeDifference] = Field(default_factory=dict)
    """What is different in some deployments, by their names."""

    def in_deployment(self, name: str) -> Self:
        """Return the topic as it is in one deployment, where nothing is different any more."""
        different = self.deployments.get(name)
        if different is None:
            return self
        values = {key: getattr(different, key) for key in _DIFFERENT}
        changes = {key: value for key, value in values.items() if value is not None}
        return self.model_copy(update={**changes, "configs": {**self.configs, **different.configs}, "deployments": {}})

    def written_configs(self) -> Iterator[tuple[tuple[str, ...], str | None]]:
        """Yield every configuration that is written down, for whatever deployment: where, and the value."""
        for key, value in self.configs.items():
            yield ("configs", key), value
        for deployment, different in self.deployments.items():
            for key, value in different.configs.items():
                yield ("deployments", deployment, "configs", key), value

    def wanted_configs(self) -> dict[str, str | None]:
        """Return the configurations to set, retention included, as Kafka spells them; None for the broker's default."""
        return {**self.configs, "retention.ms": self._retention_ms()}

    @property
    def largest_batch(self) -> int | None:
        """The bytes of the largest batch of records that it takes; None where that is not written down as a number."""
        written = self.configs.get("max.message.bytes") or ""
        return int(written) if written.isdecimal() else None

    def _retention_ms(self) -> str | None:
        if isinstance(self.retention, timedelta):
            return str(int(self.retention.total_seconds() * 1000))
        return "-1" if self.retention == "forever" else None


class AbsentTopic(Spec):
    """`include/topics/<name>.yaml` of a topic that there shall no longer be."""

    name: Name
    state: Literal["absent"]
    """`absent`: the topic is deleted, with its records, by a plan that names it. Take the spec away afterwards."""
    description: str = ""
    owner: str | None = Field(default=None, min_length=1, max_length=200)


def one_topic(source: object) -> object:
    """Refuse a list of topics, in other words than that it is no text."""
    if isinstance(source, list):
        raise ValueError(  # noqa: TRY004 - pydantic reports a ValueError only
            "found a list; name one topic, or write `sources:` with a name for each"
        )
    return source
