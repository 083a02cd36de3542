from __future__ import annotations

from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.catalog.streams import StreamKind, raw_stream, topic_of_raw
from sluice.specs.load import load_catalog


def shipped(mirror_group: str | None = None) -> Catalog:
    catalog = load_catalog(settings().home / "include")
    departures = catalog.pipelines["departures"].model_copy(update={"mirror_group": mirror_group})
    return Catalog(topics=catalog.topics, pipelines={"departures": departures})


def test_every_stream_says_what_it_reads_and_writes() -> None:
    streams = shipped().streams
    assert {name: (stream.kind, stream.topics) for name, stream in streams.items()} == {
        "raw_flights": (StreamKind.RAW, ("flights",)),
        "departures": (StreamKind.PIPELINE, ("flights",)),
        "departures_live": (StreamKind.LIVE, ("flights",)),
    }
    assert streams["raw_flights"].outputs == ()
    assert [output.kind for output in streams["departures"].outputs] == ["intervals"]
    assert [output.kind for output in streams["departures_live"].outputs] == ["latest"]


def test_units_and_the_catalog_name_the_same_streams() -> None:
    catalog = shipped()
    assert {stream for unit in catalog.units().values() for stream in unit.streams} == set(catalog.streams)


def test_only_streams_of_a_mirrored_pipeline_have_a_group() -> None:
    assert shipped().mirrored == ()
    mirrored = {stream.name: group for stream, group in shipped("shown").mirrored}
    assert mirrored == {"departures": "shown", "departures_live": "shown_live"}


def test_a_stream_that_no_spec_declares_still_has_the_topic_of_its_name() -> None:
    assert topic_of_raw(raw_stream("flights")) == "flights"
    assert shipped().topic_of("raw_of_long_ago") == "of_long_ago"
    assert shipped().pipeline_of("raw_of_long_ago") is None
    assert shipped().owner_of("raw_of_long_ago") == ""
