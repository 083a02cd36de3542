"""What `sluice new` writes: sound as it is, and nothing of somebody else's is overwritten."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from sluice.cli.main import app
from sluice.cli.scaffold.pipelines import pipeline_files, sample_record
from sluice.cli.scaffold.topics import guess_fields, sample_of, time_of, topic_text
from sluice.errors import RefusedError, SluiceError, SpecError
from sluice.feeds.lines import feed_lines_hold
from sluice.feeds.sources import load_source
from sluice.specs.load import load_catalog, scan
from sluice.specs.model.model import FieldType, TopicSpec
from sluice.specs.reading.document import parse_document
from sluice.specs.rules.rules import RULES
from sluice.topics.declared_time import read_time
from sluice.topics.declared_value import parse_fields
from tests.editing import copy_project

PROJECT = Path(__file__).parents[4]
RECORDS = [
    b'{"order":1,"at":"2026-01-01T12:00:00Z","price":2,"paid":true,"note":null,"tag":"a"}',
    b'{"order":2,"at":"2026-01-01T12:30:00+01:00","price":2.5,"paid":false,"lines":[1],"tag":3}',
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the project's specs."""
    copy_project(tmp_path)
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    return tmp_path


def new(*arguments: str, stdin: str = "") -> list[str]:
    answer = CliRunner().invoke(app, ["new", *arguments], input=stdin)
    if isinstance(answer.exception, SluiceError):
        raise answer.exception
    assert answer.exit_code == 0, answer.output
    return [line.removeprefix("wrote ") for line in answer.stdout.splitlines() if line.startswith("wrote ")]


def test_a_sample_gives_the_fields_their_types_and_which_are_required() -> None:
    fields = guess_fields(sample_of(RECORDS))
    assert {name: (field.type.value, field.required) for name, field in fields.items()} == {
        "order": ("long", True),
        "at": ("timestamp", True),
        "price": ("double", True),
        "paid": ("boolean", True),
        "tag": ("string", True),
        "lines": ("array", False),
    }
    assert time_of(fields) == "at"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "the sample is empty"),
        ([b"{"], "line 1 of the sample: it is no JSON"),
        ([b"{}", b"[]"], "line 2 of the sample: it is JSON, but no object"),
        ([b"\xff"], "line 1 of the sample: byte 1 is not UTF-8"),
    ],
)
def test_a_sample_that_holds_no_records_is_refused(lines: list[bytes], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        guess_fields(sample_of(lines))


def test_a_topic_needs_a_time_in_every_record() -> None:
    with pytest.raises(SpecError, match="no field of the sample is a time"):
        time_of(guess_fields(sample_of([b'{"id":1,"at":"yesterday"}'])))
    with pytest.raises(SpecError, match="'price' is not a time in every record"):
        time_of(guess_fields(sample_of(RECORDS)), "price")


def test_what_is_written_for_a_topic_and_its_pipeline_is_sound(home: Path) -> None:
    sample = "\n".join(record.decode() for record in RECORDS)
    assert new("topic", "orders", "--sample", "-", "--owner", "shop", stdin=sample) == ["include/topics/orders.yaml"]
    written = new("pipeline", "orders_per_hour", "--source", "orders")
    assert sorted(written) == [
        "include/expectations/orders_per_hour.yaml",
        "include/pipelines/orders_per_hour.yaml",
        "spark_jobs/transforms/orders_per_hour.py",
        "tests/pipelines/test_orders_per_hour.py",
    ]
    found = load_catalog(home / "include")
    assert found.topics["orders"].owner == "shop"
    assert found.suite_of("orders_per_hour") is not None
    for path in written:
        if path.endswith(".py"):
            compile((home / path).read_text(), path, "exec")


def test_a_pipeline_in_sql_is_sound(home: Path) -> None:
    written = new("pipeline", "flown", "--source", "flights", "--sql")
    assert "spark_jobs/transforms/flown.sql" in written
    assert "spark_jobs/transforms/flown.py" not in written
    assert load_catalog(home / "include").pipelines["flown"].transform == "flown.sql"
    assert "GROUP BY window(scheduled_at, '1 hour')" in (home / "spark_jobs/transforms/flown.sql").read_text()


def test_nested_values_are_declared_and_what_is_no_field_is_named(home: Path) -> None:
    records = [
        {
            "at": "2026-01-01T12:00:00Z",
            "Total Sum": 1.5,
            "note": null_,
            "due": "2026-01-31",
            "log": log,
            "it's": 1,
            "buyer": {"id": 7, "firstName": "a", "since_ts": 1767268800, "gone": null_, "odd'key": 1},
            "lines": [{"sku": "a", "sizes": [1, 2.5]}],
            "empty": [],
            "bare": {},
            "either": either,
        }
        for null_, log, either in ((None, 1, [1]), (None, "a", {"a": 1}))
    ]
    answer = CliRunner().invoke(
        app, ["new", "topic", "orders", "--sample", "-"], input="\n".join(map(json.dumps, records))
    )
    topic = load_catalog(home / "include").topics["orders"]
    fields = topic.value.fields
    assert {name: field.words for name, field in fields.items()} == {
        "at": "timestamp",
        "total_sum": "double",
        "due": "date",
        "log": "string",
        "buyer": "object<id:long,first_name:string,since_ts:timestamp>",
        "lines": "array<object<sku:string,sizes:array<double>>>",
        "empty": "string",
        "bare": "string",
        "either": "string",
    }
    assert fields["total_sum"].path == "$['Total Sum']"
    assert (fields["buyer"].fields or {})["first_name"].path == "$.firstName"
    assert parse_fields(json.dumps(records[0]).encode(), topic.value)["total_sum"] == 1.5
    for said in (
        "left out, for it was always null: note.",
        "left out: 1 key that cannot be the name of a field.",
        "log: of several types, kept as JSON text.",
        "buyer.gone: left out, for it was always null.",
        "buyer: a key inside is left out, for no field can be named like it, or no path.",
        "empty: empty lists, kept as JSON text; nothing says what their entries are.",
        "bare: empty objects, kept as JSON text.",
        "either: objects and lists, kept as JSON text.",
    ):
        assert said in " ".join(answer.output.split())
    text = (home / "include/topics/orders.yaml").read_text()
    assert "# of several types, kept as JSON text" in text
    assert "    # left out, for it was always null: note.\n" in text


def test_the_lines_of_an_unknown_log_need_a_pattern(home: Path) -> None:
    assert home
    with pytest.raises(SpecError, match="line 1 of the sample: it is no JSON") as error:
        new("topic", "logs", "--sample", "-", stdin='10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /" 200')
    assert "`format: text` and a `pattern`" in error.value.fix


@pytest.mark.parametrize(
    ("at", "epoch", "zone"),
    [
        ("1767268800", "seconds", None),
        ("1767268800123", "milliseconds", None),
        ("1767268800123456", "microseconds", None),
        ('"2026-01-01T12:00:00"', None, "UTC"),
        ('"2026-01-01 12:00:00+01:00"', None, None),
    ],
)
def test_a_time_is_declared_as_the_sample_writes_it(home: Path, at: str, epoch: str | None, zone: str | None) -> None:
    new("topic", "orders", "--sample", "-", stdin=f'{{"sent_at":{at},"id":1767268800}}')
    value = load_catalog(home / "include").topics["orders"].value
    assert (value.event_time, value.fields["id"].type) == ("sent_at", FieldType.LONG)
    assert (value.fields["sent_at"].epoch, value.fields["sent_at"].zone) == (epoch, zone)
    at_noon = sample_record(load_catalog(home / "include").topics["orders"], datetime(2026, 1, 1, 12, tzinfo=UTC))
    assert read_time(at_noon["sent_at"], value.fields["sent_at"]) == datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_a_sample_of_the_past_proposes_the_field_that_says_when_its_records_became_known(home: Path) -> None:
    assert home
    record = '{"at":"2013-01-01T12:00:00Z","observed_at":"2013-01-01T12:01:00Z"}'
    answer = CliRunner().invoke(app, ["new", "topic", "orders", "--sample", "-"], input=record)
    assert "To replay them, write `arrival_time: observed_at` (or pass --arrival-time observed_at)" in answer.output
    given = ["new", "topic", "others", "--sample", "-", "--arrival-time", "observed_at"]
    assert "--arrival-time" not in CliRunner().invoke(app, given, input=record).output


def test_without_a_sample_a_topic_has_two_fields_and_is_sound(home: Path) -> None:
    new("topic", "events")
    assert list(load_catalog(home / "include").topics["events"].value.fields) == ["id", "at"]


def test_a_file_that_is_there_is_left_alone_and_no_other_is_written(home: Path) -> None:
    transform = home / "spark_jobs" / "transforms" / "counts.py"
    transform.write_text("# mine\n")
    with pytest.raises(RefusedError, match=r"transforms/counts\.py already exists"):
        new("pipeline", "counts", "--source", "flights")
    assert transform.read_text() == "# mine\n"
    assert not (home / "include" / "pipelines" / "counts.yaml").exists()


@pytest.mark.parametrize("name", ["Orders", "1st", "a-b", "../orders", ""])
def test_an_invalid_name_is_refused(home: Path, name: str) -> None:
    assert home
    with pytest.raises(SpecError, match="is not a valid name"):
        new("topic", name)


def test_a_pipeline_over_no_topic_is_refused_with_those_that_there_are(home: Path) -> None:
    assert home
    with pytest.raises(SpecError, match="valid topics: flights"):
        new("pipeline", "counts", "--source", "fligths")


FIELDS = st.dictionaries(
    st.from_regex(r"[a-z][a-z0-9_]{0,10}", fullmatch=True).filter(lambda name: name != "at"),
    st.one_of(st.integers(-(2**53), 2**53), st.booleans(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    max_size=6,
)


@given(st.lists(FIELDS, min_size=1, max_size=4))
@example([{"on": 0, "no": 1, "y": 2}])
def test_whatever_the_records_are_the_spec_reads_as_it_was_guessed(records: list[dict[str, object]]) -> None:
    lines = [json.dumps({"at": "2026-01-01T00:00:00Z", **record}).encode() for record in records]
    fields = guess_fields(sample_of(lines))
    text = topic_text("t", fields, "at", partitions=1, owner="")
    spec = TopicSpec.model_validate_json(json.dumps(parse_document(text.encode(), "t.yaml").data))
    assert {name: (field.type, field.required) for name, field in spec.value.fields.items()} == {
        name: (field.type, field.required) for name, field in fields.items()
    }


def test_the_test_of_a_pipeline_has_records_that_its_topic_takes() -> None:
    topic = scan(PROJECT / "include").catalog.topics["flights"]
    record = sample_record(topic, datetime(2026, 1, 1, tzinfo=UTC))
    assert record.keys() == topic.value.fields.keys() - {"heartbeat"}
    assert (record["origin"], record["dep_delay_min"], record["scheduled_at"]) == ("EWR", -720, "2026-01-01T00:00:00Z")
    assert {field.type for field in topic.value.fields.values()} <= {*FieldType}
    assert "arrived_at" not in pipeline_files("p", topic, owner="x")["tests/pipelines/test_p.py"]


def test_a_new_feed_is_sound_and_sends_the_file_as_it_is(home: Path) -> None:
    sample = "\n".join(record.decode() for record in RECORDS)
    new("topic", "orders", "--sample", "-", stdin=sample)
    written = new("feed", "may", "--topic", "orders", "--from", "-", "--key", "tag", stdin=sample)
    assert written == ["include/feeds/may.yaml", "include/data/may.jsonl"]
    assert (home / "include" / "data" / "may.jsonl").read_text() == sample + "\n"
    assert scan(home / "include", rules=(*RULES, feed_lines_hold)).faults == ()
    catalog = load_catalog(home / "include")
    source = load_source(catalog.feeds["may"], catalog.topics["orders"], home / "include")
    found = [(record.payload, record.key) for day in source.days() for record in source.records(day, day)]
    assert found == [(RECORDS[1], b"3"), (RECORDS[0], b"a")]


def test_a_new_feed_reports_all_wrong_lines_and_writes_nothing(home: Path) -> None:
    sample = "{\n" + '{"scheduled_at":"2026-01-01T00:00:00Z"}\n'
    with pytest.raises(SpecError, match=r"(?s)-:1: it is no JSON.*-:2: it has no 'observed_at'"):
        new("feed", "may", "--topic", "flights", "--from", "-", stdin=sample)
    with pytest.raises(SpecError, match=r"'shop' is no field.*'when' is no timestamp field"):
        new("feed", "may", "--topic", "flights", "--from", "-", "--key", "shop", "--arrival-time", "when", stdin=sample)
    assert not (home / "include" / "data").exists()
    assert not (home / "include" / "feeds" / "may.yaml").exists()


NESTED = {
    "at": {"type": "timestamp", "path": "$.meta.at", "required": True},
    "user": {"type": "object", "fields": {"id": {"type": "integer"}, "born": {"type": "date"}}},
    "user_name": {"type": "string", "path": "$.user['first name']"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "prices": {"type": "map", "values": {"type": "decimal", "precision": 5, "scale": 2, "minimum": 2}},
    "raw": {"type": "binary"},
    "text": {"type": "string", "path": "$.box"},
    "inner": {"type": "long", "path": "$.box.id"},
}


def _topic_of(fields: object, **keys: object) -> TopicSpec:
    value = {"fields": fields, "event_time": "at", "arrival_time": "broker", **keys}
    return TopicSpec.model_validate(
        {"name": "t", "partitions": 1, "value": value, "raw": {"table": "t_raw", "driver": "t"}}
    )


def test_the_test_of_a_pipeline_over_nested_records_writes_them_where_the_paths_lead() -> None:
    assert sample_record(_topic_of(NESTED), datetime(2026, 1, 1, 12, tzinfo=UTC)) == {
        "meta": {"at": "2026-01-01T12:00:00Z"},
        "user": {"id": 1, "born": "2026-01-01", "first name": "a"},
        "tags": ["a"],
        "prices": {"a": 2},
        "raw": "AA==",
        "box": "a",
    }


def test_the_test_of_a_pipeline_over_lines_has_lines() -> None:
    fields = {"at": {"type": "timestamp", "zone": "UTC"}, "id": {"type": "long"}}
    flags = {**fields, "up": {"type": "boolean"}}
    columns = _topic_of(flags, format="csv", columns=["id", "other", "at", "up"], delimiter=";")
    files = pipeline_files("p", columns, owner="")
    assert "1;;2026-01-01T12:20:00Z;false\n" in files["tests/pipelines/test_p.py"]
    log = _topic_of(fields, format="text", pattern="(?<id>a) (?<at>b)")
    assert "replace this by a line as the topic" in pipeline_files("p", log, owner="")["tests/pipelines/test_p.py"]
