"""The kinds of specs: where their files are, and which model reads them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from sluice.specs.expectations import ExpectationsSpec
from sluice.specs.model import DeploymentSpec, FeedSpec, PipelineSpec, TopicSpec
from sluice.specs.spec import Spec


class Kind(StrEnum):
    """One kind of spec."""

    TOPIC = "topic"
    PIPELINE = "pipeline"
    FEED = "feed"
    DEPLOYMENT = "deployment"
    SUITE = "suite"

    @property
    def folder(self) -> str:
        """The folder below `include/`."""
        return "expectations" if self is Kind.SUITE else f"{self.value}s"

    @property
    def model(self) -> type[Spec]:
        """The model of one file."""
        return _MODELS[self]


_MODELS: Mapping[Kind, type[Spec]] = {
    Kind.TOPIC: TopicSpec,
    Kind.PIPELINE: PipelineSpec,
    Kind.FEED: FeedSpec,
    Kind.DEPLOYMENT: DeploymentSpec,
    Kind.SUITE: ExpectationsSpec,
}

Key = tuple[Kind, str]
"""A spec's identity: its kind and the stem of its file."""
