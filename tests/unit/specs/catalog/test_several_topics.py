"""What the catalog says of a pipeline that reads several topics."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from sluice.feeds.heartbeat import heartbeat_times
from sluice.provisioning.access.roles import needed
from sluice.provisioning.growth.effects import growth_effects
from sluice.quality.arrivals import sent_too_late
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.catalog.rhythm import rhythm_of
from sluice.specs.catalog.stamping import MAX_AHEAD, longest_skew
from sluice.specs.model.access import Role
from tests.twins.clock import START
from tests.unit.provisioning.access.catalogs import principal, said
from tests.unit.specs.bench import Bench
from tests.unit.specs.several import PIPELINE_FILE, project_with_several

HOUR = timedelta(hours=1)
CLICKS_FILE = "include/topics/ad_clicks.yaml"


@pytest.fixture
def several(tmp_path: Path) -> Bench:
    project = project_with_several(tmp_path / "project")
    project.edit(PIPELINE_FILE, "driver: ads", "driver: joins\nmirror_group: shown")
    project.edit(PIPELINE_FILE, "{allowed_lateness: 10 min,", "{clock_skew: 1 hour, allowed_lateness: 10 min,")
    project.edit(CLICKS_FILE, "driver: ads", "driver: clicks")
    project.edit(CLICKS_FILE, "partitions: 2", "partitions: 2\nretention: 1 day")
    return project


def catalog(several: Bench) -> Catalog:
    scan = several.scan()
    assert scan.faults == ()
    return scan.catalog


def test_its_stream_reads_all_of_them(several: Bench) -> None:
    found = catalog(several)
    assert found.topics_of("click_through") == ("ad_impressions", "ad_clicks")
    assert found.topics_of("raw_ad_clicks") == ("ad_clicks",)
    assert found.topics_of("raw_gone") == ("gone",)
    assert {unit for topic in found.topics for unit in found.units_at(topic)} == {"ads", "clicks", "joins"}
    assert found.units_at("ad_clicks") == {"clicks", "joins"}
    assert found.raw_units_of(found.unit("joins")) == ("ads", "clicks")


def test_the_topic_that_deletes_its_records_first_counts(several: Bench) -> None:
    assert rhythm_of(catalog(several), "click_through").retention == timedelta(days=1)
    assert rhythm_of(catalog(several), "raw_ad_impressions").retention is None


def test_each_topic_is_bounded_by_the_skew_of_its_own_source(several: Bench) -> None:
    found = catalog(several)
    assert longest_skew("ad_clicks", found.readers["ad_clicks"]) == HOUR
    assert longest_skew("ad_impressions", found.readers["ad_impressions"]) == timedelta(minutes=10)
    ahead = {name: shape.configs[MAX_AHEAD] for name, shape in found.kafka_topics().items()}
    assert ahead == {"ad_clicks": "3600000", "ad_impressions": "600000"}


def test_roles_may_read_all_of_them(several: Bench) -> None:
    found = catalog(several)
    reading = {"read topic ad_impressions", "read topic ad_clicks"}
    assert said(needed(principal(Role.STREAM, scope=("joins",)), found)) == reading
    assert said(needed(principal(Role.BACKFILL), found)) == reading
    assert said(needed(principal(Role.WATCHER), found)) == {*reading, "read group shown"}


def test_it_is_affected_by_the_growth_of_any(several: Bench) -> None:
    for topic in ("ad_impressions", "ad_clicks"):
        affected = growth_effects(catalog(several), topic, 2, 4).streams
        assert [each.stream for each in affected] == ["click_through", f"raw_{topic}"]


def test_of_a_feed_only_the_rules_of_its_own_topic_count(several: Bench) -> None:
    found = catalog(several)
    readers = [found.pipelines["click_through"]]
    # A row of the next hour may be made of an impression; a click is in those of its own hour, and is later.
    assert heartbeat_times(START, "ad_impressions", readers) == (START + 2 * HOUR + timedelta(minutes=5),)
    assert heartbeat_times(START, "ad_clicks", readers) == (START + HOUR + timedelta(minutes=11),)
    for topic, minutes in (("ad_impressions", 5), ("ad_clicks", 10)):
        spec = found.topics[topic]
        broker = spec.model_copy(update={"value": spec.value.model_copy(update={"arrival_time": "broker"})})
        assert sent_too_late(broker, readers, START, START + timedelta(minutes=minutes)) == ""
        assert sent_too_late(broker, readers, START, START + timedelta(minutes=minutes, seconds=1))
