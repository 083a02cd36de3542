"""What the model refuses in one spec, each at its line and in plain words."""

from __future__ import annotations

import pytest

from sluice.specs.model.model import TopicValue
from sluice.specs.model.topic_shape import TopicShape
from tests.unit.specs.bench import DEPLOYMENT_FILE, FEED_FILE, PIPELINE_FILE, TOPIC_FILE, Bench
from tests.unit.specs.case import Case, assert_one_fault, words


@pytest.mark.parametrize(
    "case",
    [
        ("partitions: 2", "partitons: 2", 2, "partitons", "no such key is known here. Fix: did you mean 'partitions'?"),
        ("partitions: 2\n", "", 1, "partitions", "the key is missing."),
        ("partitions: 2", "partitions: many", 2, "partitions", "found 'many' where a whole number is needed."),
        ("partitions: 2", "partitions: '2'", 2, "partitions", "Fix: write it without quotes"),
        ("partitions: 2", "partitions: true", 2, "partitions", "found true where a whole number is needed."),
        ("partitions: 2", "partitions: 0", 2, "partitions", "found 0; it must be at least 1."),
        ("partitions: 2", "partitions: 2\npartitions: 3", 3, "partitions", "written twice; the first time in line 2"),
        ("retention: 7 days", "retention: soon", 3, "retention", "'soon' is not a duration"),
        (
            "retention: 7 days",
            "retention: soon",
            3,
            "retention",
            "; nor: found 'soon'; it must be 'forever' or 'default'.",
        ),
        ("cleanup.policy: delete", "segment.ms: 5", 5, 'configs["segment.ms"]', "found 5 where text is needed."),
        ("cleanup.policy: delete", "retention.ms: '5'", 4, "configs", "declare it as `retention`"),
        ("name: orders", "name: Or-ders", 1, "name", "'Or-ders' is no name"),
        ("id: {type: long", "id: {type: lnog", 8, "value.fields.id.type", "Fix: did you mean 'long'?"),
        ("minimum: 0", "minimun: 0", 8, "value.fields.id.minimun", "did you mean 'minimum'?"),
        ("minimum: 0", "minimum: 9, maximum: 1", 8, "value.fields.id.maximum", "below the minimum 9"),
        (
            "{type: boolean}",
            "{type: boolean, minimum: 1}",
            12,
            "value.fields.beat.minimum",
            "only a number has a minimum",
        ),
        ("minimum: 0", "one_of: [a]", 8, "value.fields.id.one_of", "only a string has a one_of"),
        ("minimum: 0", "epoch: seconds", 8, "value.fields.id.epoch", "only a timestamp has epoch"),
        ("minimum: 0", "zone: UTC", 8, "value.fields.id.zone", "only a timestamp has zone"),
        ("[north, south]", "north", 9, "value.fields.shop.one_of", "found 'north' where a list is needed."),
        (
            "[north, south]",
            "[north, 5]",
            9,
            "value.fields.shop.one_of[1]",
            "found 5 where text is needed. Fix: put it in quotes.",
        ),
        (
            "  event_time: ordered_at",
            "  event_time: ordred",
            13,
            "value.event_time",
            "'ordred' is no field of this value",
        ),
        (
            "arrival_time: seen_at",
            "arrival_time: id",
            14,
            "value.arrival_time",
            "is a long; this must name a timestamp",
        ),
        ("heartbeat: beat", "heartbeat: shop", 15, "value.heartbeat", "is a string; this must name a boolean"),
        ("raw:\n  table: orders_raw\n  driver: shop", "raw: 5", 16, "raw", "found 5 where a mapping is needed."),
    ],
    ids=words,
)
def test_a_wrong_topic_is_refused_at_its_line(bench: Bench, case: Case) -> None:
    assert_one_fault(bench, TOPIC_FILE, case)


@pytest.mark.parametrize(
    "case",
    [
        ("source: orders", "source:", 2, "source", "found nothing where text is needed."),
        (
            "transform: sales:sales",
            "transform: sales",
            3,
            "transform",
            "found 'sales'; it must be `module:function`, such as sales:totals",
        ),
        ("columns: {shop: string, city: string}", "columns: {}", 7, "static.shops.columns", "at least one entry"),
        (
            "future_skew: 5 min",
            "future_skew: 5 min\n  watermark_delay: 1 hour",
            11,
            "time.watermark_delay",
            "65 minutes",
        ),
        ("driver: shop", "driver: shop\nresources: {cores: 0}", 17, "resources.cores", "it must be at least 1"),
        *(
            ("driver: shop", f"driver: shop\nbackfill: {{schedule: {cron}}}", 17, "backfill.schedule", "every day")
            for cron in ("0 6 * * 1-5", "0 */6 * * *", "'@daily'", "0 6 * *", "60 6 * * *", "0 24 * * *")
        ),
    ],
    ids=words,
)
def test_a_wrong_pipeline_is_refused_at_its_line(bench: Bench, case: Case) -> None:
    assert_one_fault(bench, PIPELINE_FILE, case)


@pytest.mark.parametrize(
    "case",
    [
        (
            "source: nycflights13",
            "source: nycflights",
            3,
            "source",
            "'websocket', 'sse', 'folder' or 'socket'.",
        ),
    ],
    ids=words,
)
def test_a_wrong_feed_is_refused_at_its_line(bench: Bench, case: Case) -> None:
    assert_one_fault(bench, FEED_FILE, case)


@pytest.mark.parametrize(
    "case",
    [
        ("kind: external", "kind: extern", 2, "kafka", "it must be one of 'embedded', 'external'."),
        ("  kind: external\n", "", 2, "kafka", "the key 'kind' is missing."),
        ("bootstrap: [kafka:9092]", "bootstrp: [kafka:9092]", 4, "kafka.bootstrp", "did you mean 'bootstrap'?"),
        ("bootstrap: [kafka:9092]", "bootstrap: kafka:9092", 4, "kafka.bootstrap", "where a list is needed."),
    ],
    ids=words,
)
def test_a_wrong_deployment_is_refused_at_its_line(bench: Bench, case: Case) -> None:
    assert_one_fault(bench, DEPLOYMENT_FILE, case)


@pytest.mark.parametrize(
    ("event_id", "message"),
    [
        ("[id, shop]", "the field 'shop' may be absent"),
        ("[idd]", "'idd' is no field of this value"),
        ("[id, id]", "a field is in it twice"),
        ("[]", "it is empty; it needs at least one entry."),
        ("id", "found 'id' where a list is needed."),
    ],
)
def test_an_event_is_identified_by_required_fields(bench: Bench, event_id: str, message: str) -> None:
    bench.edit(TOPIC_FILE, "  heartbeat: beat", f"  heartbeat: beat\n  event_id: {event_id}")
    (fault,) = bench.scan().faults
    assert (fault.line, fault.where) == (16, "value.event_id")
    assert message in fault.message


def test_the_times_of_a_record_are_read_as_format_names_and_forms_say() -> None:
    when = {"type": "timestamp"}
    value = TopicValue.model_validate(
        {"fields": {"at": when, "seen": when}, "event_time": "at", "arrival_time": "broker"}
    )
    assert value.times == "json, event time at, arrival time the broker's"
    other = {
        "format": "json",
        "fields": {"at": {**when, "epoch": "milliseconds"}, "seen": {**when, "zone": "UTC"}, "n": {"type": "long"}},
        "event_time": "at",
        "arrival_time": "seen",
    }
    read = TopicValue.model_validate(other).times
    assert read == "json, event time at in milliseconds since 1970, arrival time seen in UTC"
    del other["fields"]["n"]  # type: ignore[attr-defined]
    assert TopicValue.model_validate(other).times == read, "other fields have no part in it"


@pytest.mark.parametrize(("written", "bytes_"), [("262144", 262_144), (None, None), ("much", None)])
def test_the_largest_batch_of_a_topic_is_what_its_configurations_say(written: str | None, bytes_: int | None) -> None:
    assert TopicShape(partitions=1, configs={"max.message.bytes": written}).largest_batch == bytes_
    assert TopicShape(partitions=1).largest_batch is None
