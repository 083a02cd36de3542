"""A deployment: where Kafka, Spark and storage are."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sluice.specs.kafka_place import EmbeddedKafka, ExternalKafka
from sluice.specs.spec import Name, Spec


class SparkPlace(Spec):
    """Where drivers find their cores."""

    master: str = "local"
    """`local`: as many local cores as the pipeline's resources say, or those of the cluster that `sluice up
    --spark-workers` has started; else a master URL."""
    page: str | None = None
    """Address of the master's page, where it says which cores are free; omitted: port 8080 of the master's host."""


class DeploymentSpec(Spec):
    """`include/deployments/<name>.yaml`: where things are. Specs of other kinds do not change between deployments."""

    name: Name
    description: str = ""
    kafka: Annotated[EmbeddedKafka | ExternalKafka, Field(discriminator="kind")]
    spark: SparkPlace = SparkPlace()
    replication: int = Field(default=1, ge=1, le=32)
    """Replicas of a topic that does not say."""
    failure_domains: tuple[Name, ...] = ("rack",)
    """What the parts of `broker.rack` are, from left to right, with `/` between them: `[fault, update]` of 0/3."""
    topology: str | None = None
    """A file below `include/` that says it instead of the racks, as `sluice topics place` reads it."""
    storage: str | None = None
    """Absolute folder for tables and checkpoints; omitted: the state folder."""
