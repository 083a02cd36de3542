from __future__ import annotations

from datetime import timedelta

from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.catalog.rhythm import DEFAULT_TRIGGER, Rhythm, rhythm_of
from sluice.specs.load import load_catalog


def project() -> Catalog:
    return load_catalog(settings().home / "include")


def with_retention(catalog: Catalog, retention: timedelta | str) -> Catalog:
    topics = {name: topic.model_copy(update={"retention": retention}) for name, topic in catalog.topics.items()}
    return Catalog(topics=topics, pipelines=catalog.pipelines)


def test_a_pipeline_reads_its_source_and_a_raw_stream_its_topic() -> None:
    assert project().topic_of("departures") == project().topic_of("raw_flights") == "flights"


def test_a_pipeline_reads_as_its_spec_says() -> None:
    catalog = project()
    capped = catalog.pipelines["departures"].model_copy(
        update={"trigger": timedelta(seconds=30), "max_records_per_batch": 9}
    )
    catalog = with_retention(Catalog(topics=catalog.topics, pipelines={"departures": capped}), timedelta(days=7))
    assert rhythm_of(catalog, "departures") == Rhythm(timedelta(seconds=30), 9, timedelta(days=7))


def test_a_raw_stream_is_as_quick_as_the_quickest_reader_of_its_topic_and_has_no_cap() -> None:
    catalog = project()
    readers = {
        name: catalog.pipelines["departures"].model_copy(
            update={"name": name, "trigger": timedelta(seconds=seconds), "max_records_per_batch": 9}
        )
        for name, seconds in [("slow", 60), ("quick", 7)]
    }
    assert rhythm_of(Catalog(topics=catalog.topics, pipelines=readers), "raw_flights").trigger == timedelta(seconds=7)
    assert rhythm_of(Catalog(topics=catalog.topics), "raw_flights").trigger == DEFAULT_TRIGGER
    assert rhythm_of(Catalog(topics=catalog.topics, pipelines=readers), "raw_flights").cap is None


def test_a_topic_that_keeps_everything_or_what_the_broker_likes_has_no_retention() -> None:
    assert rhythm_of(project(), "departures").retention is None
    assert rhythm_of(with_retention(project(), "default"), "departures").retention is None
