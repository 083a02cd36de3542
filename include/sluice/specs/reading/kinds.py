"""The kinds of specs: where their files are, and which model reads them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from sluice.specs.deployments.deployment import DeploymentSpec
from sluice.specs.deployments.mirror import MirrorSpec
from sluice.specs.expectations.model import ExpectationsSpec
from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.model.access import PrincipalSpec
from sluice.specs.model.alerting import AlertPolicySpec
from sluice.specs.model.model import PipelineSpec, TopicSpec
from sluice.specs.model.spec import Spec
from sluice.specs.model.topic_shape import AbsentTopic


class Kind(StrEnum):
    """One kind of spec."""

    TOPIC = "topic"
    PIPELINE = "pipeline"
    FEED = "feed"
    DEPLOYMENT = "deployment"
    SUITE = "suite"
    PRINCIPAL = "principal"
    POLICY = "policy"
    MIRROR = "mirror"

    @property
    def folder(self) -> str:
        """The folder below `include/`."""
        return _FOLDERS.get(self, f"{self.value}s")

    @property
    def plural(self) -> str:
        """Several of them."""
        return "policies" if self is Kind.POLICY else f"{self.value}s"

    @property
    def model(self) -> type[Spec]:
        """The model of one file."""
        return _MODELS[self]

    def model_of(self, data: object) -> type[Spec]:
        """Return the model of what a file says: a topic that shall be absent has a smaller one."""
        return AbsentTopic if self is Kind.TOPIC and isinstance(data, dict) and "state" in data else self.model

    @property
    def models(self) -> Any:  # noqa: ANN401 - a type or a union of them
        """All models that a file may follow."""
        return TopicSpec | AbsentTopic if self is Kind.TOPIC else self.model


_MODELS: Mapping[Kind, type[Spec]] = {
    Kind.TOPIC: TopicSpec,
    Kind.PIPELINE: PipelineSpec,
    Kind.FEED: FeedSpec,
    Kind.DEPLOYMENT: DeploymentSpec,
    Kind.SUITE: ExpectationsSpec,
    Kind.PRINCIPAL: PrincipalSpec,
    Kind.POLICY: AlertPolicySpec,
    Kind.MIRROR: MirrorSpec,
}
_FOLDERS: Mapping[Kind, str] = {Kind.SUITE: "expectations", Kind.PRINCIPAL: "access", Kind.POLICY: "alerts"}

Key = tuple[Kind, str]
"""A spec's identity: its kind and the stem of its file."""
