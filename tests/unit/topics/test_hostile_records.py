"""Whatever a topic holds, every reader in Python goes on: the same values through each of them."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings

from sluice.cli.scaffold.samples import SampleChoices, SampleFormat, draft_of
from sluice.cli.scaffold.topics import guess_fields, sample_of
from sluice.cli.topics.send import keys_of
from sluice.cli.views.quarantine_view import hex_dump
from sluice.cli.views.record_view import as_dict, as_line
from sluice.errors import SpecError
from sluice.feeds.lines import Fields, read_lines
from sluice.feeds.record import integer_field
from sluice.kafka.deduplication import deduplicated
from sluice.kafka.live_records import _rows
from sluice.kafka.records import _record, _stamp
from sluice.live.source import SourceRead
from sluice.provisioning.growth.keys import partition_of
from sluice.provisioning.importing.sample import RecordSample
from sluice.quality.samples import masked
from sluice.serve.events import _as_json
from sluice.topics.declared_time import read_time
from sluice.topics.json_object import DEEPEST, NoObjectError, parse_object, read_object
from sluice.topics.printable import printable_bytes
from sluice.topics.records import Record
from tests.hostile_records import HEADERS, KEYS, TIMESTAMPS, VALUES, near_objects
from tests.twins.feed_source import ListSource
from tests.twins.feed_topic import InMemoryTopic
from tests.unit.feeds.feed_bench import MemoryStore, day, feed, file_source, flights
from tests.unit.live.test_follower import Told, make, nowhere

PACKAGE = Path(__file__).parents[3] / "include" / "sluice"
FIELDS = Fields("observed_at", "observed_at", "origin")


def fetched(value: bytes | None, **given: object) -> SimpleNamespace:
    """Return a record as kafka-python hands it out."""
    record = {"topic": "flights", "partition": 0, "offset": 3, "timestamp": 1_357_034_400_000, "timestamp_type": 0}
    return SimpleNamespace(**{**record, "key": None, "value": value, "headers": [], **given})


def sent_again(value: bytes | None) -> None:
    """A feed that finds the value in its topic sends all of its records once."""
    for source in (ListSource, file_source):
        topic, records = InMemoryTopic(), flights(days=1)
        topic.append(value)
        feed(source(records), topic, MemoryStore()).send(day(1), day(1))
        held = Counter(topic.values())
        assert [held[record.payload] for record in records] == [1] * len(records)


def served(value: bytes | None) -> None:
    """The newest values of a topic, with a rule, as they go to a browser."""
    follower = make(Told(), nowhere)
    rows, unreadable = _rows(deduplicated([fetched(value)]))
    assert len(rows) + unreadable == 1
    follower.take(SourceRead(rows, unreadable=unreadable))
    json.loads(json.dumps(_as_json(follower.values.since(0), {})), parse_constant=pytest.fail)


def shown(value: bytes | None) -> None:
    record = Record(0, 3, None, appended=False, key=value, value=value, headers=(("h", value),))
    for most in (None, 500, 1):
        as_line(record, most).plain.encode()
        json.dumps(as_dict("flights", record, most)).encode()


def sketched(value: bytes | None) -> None:
    sample = RecordSample()
    for offset in range(2):
        sample.add(Record(0, offset, None, appended=False, key=None, value=value))
    assert all(seen.type is not None for seen in sample.fields.values() if seen.present)


def guessed(value: bytes | None) -> None:
    guess_fields(sample_of([value or b""]))


def drafted(value: bytes | None) -> None:
    """A sample of any format; what is none is refused."""
    for form in (None, *SampleFormat):
        choices = SampleChoices(form)
        read_or_refused(lambda read, choices=choices: draft_of("t", read or b"", "sample", choices), value)


def keyed(value: bytes | None) -> None:
    assert all(key is None or isinstance(key, bytes) for key in keys_of([value or b""], "origin"))


def lined(value: bytes | None) -> None:
    lines, faults = read_lines([value or b""], "flights.jsonl", FIELDS)
    assert len(lines) + len(faults) == 1
    assert all(len(fault.message) < 300 for fault in faults), "a fault quotes a little of the line"


def dumped(value: bytes | None) -> None:
    masked(printable_bytes(value or b"", 500)).encode()
    "".join(hex_dump(value or b"")).encode()


def identified(value: bytes | None) -> None:
    number = integer_field(value or b"", "flight_id")
    assert number is None or number.bit_length() < 64


READERS: dict[str, Callable[[bytes | None], None]] = {
    "feed send, after a crash": sent_again,
    "feeds: a record's identity": identified,
    "feeds: lines of a file; new feed": lined,
    "serve: newest values of a topic": served,
    "topics tail": shown,
    "topics import; topics describe": sketched,
    "topics send --key": keyed,
    "new topic --sample": guessed,
    "new topic --sample --format": drafted,
    "quarantine show, browse, masked": dumped,
}


def read_or_refused(reader: Callable[[bytes | None], object], value: bytes | None) -> None:
    try:
        reader(value)
    except SpecError as refusal:
        said = refusal.message
    else:
        said = ""
    assert len(said) < 400, "it quotes a little of the value"


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_reader_goes_on_or_refuses_in_a_sentence(reader: Callable[[bytes | None], None], value: bytes | None) -> None:
    read_or_refused(reader, value)


@pytest.mark.parametrize("reader", [each for each in READERS.values() if each is not sent_again])
@given(value=near_objects())
@settings(max_examples=60)
def test_a_reader_goes_on_whatever_is_there(reader: Callable[[bytes | None], None], value: bytes) -> None:
    read_or_refused(reader, value)


@pytest.mark.parametrize("headers", HEADERS.values(), ids=HEADERS)
def test_headers_of_any_kind_are_no_delivery_of_ours_or_a_sound_one(
    headers: tuple[tuple[str, bytes | None], ...],
) -> None:
    assert len(list(deduplicated([fetched(b"{}", headers=headers)]))) == 1
    record = Record(0, 3, None, appended=False, key=None, value=b"{}", headers=headers)
    as_line(record, None).plain.encode()
    json.dumps(as_dict("flights", record, None))


@pytest.mark.parametrize("milliseconds", TIMESTAMPS)
def test_a_record_with_any_timestamp_is_read(milliseconds: int | None) -> None:
    found = _record(fetched(b"{}", timestamp=milliseconds))
    assert (found.at is not None) == (milliseconds in (0, 1_357_034_400_000))
    stamp = _stamp(fetched(b"{}", timestamp=milliseconds))
    assert (None if stamp is None else stamp.at) == found.at
    rows, _ = _rows([fetched(b'{"origin":"JFK"}', timestamp=milliseconds)])
    assert [row.at for row in rows] == [found.at]
    follower = make(Told(), nowhere)
    follower.take(SourceRead(rows))
    assert len(follower.values) == 1


@pytest.mark.parametrize("key", KEYS)
def test_a_key_of_any_kind_has_a_partition(key: bytes | None) -> None:
    assert key is None or partition_of(key, 3) in range(3)


def test_every_value_is_an_object_or_says_why_not() -> None:
    objects = {name for name, value in VALUES.items() if read_object(value) is not None}
    assert {"nested 150 deep", "65 bits", "twice a key", "nulls", "escapes"} <= objects
    for name, value in VALUES.items():
        if name in objects:
            assert read_object(value) == json.loads(value or b"")
        else:
            with pytest.raises(NoObjectError, match=r"^.{5,120}$"):
                parse_object(value)


def test_the_depth_that_is_read_is_the_same_on_every_python() -> None:
    at = b'{"a":' + b"[" * (DEEPEST - 1) + b"]" * (DEEPEST - 1) + b"}"
    assert read_object(at) is not None
    assert read_object(at.replace(b"[]", b"[[]]")) is None
    assert read_object(b'{"a":[' + b"[]," * 1000 + b"[]]}") is not None, "many lists are not deep ones"


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2013-01-01T10:00:00Z", "2013-01-01T10:00:00+00:00"),
        ("2013-01-01 10:00:00.5+01:00", "2013-01-01T09:00:00.500000+00:00"),
        ("2013-01-01T10:00-0530", "2013-01-01T15:30:00+00:00"),
        ("2013-01-01T10:00:00.123456789Z", "2013-01-01T10:00:00.123456+00:00"),
        ("1900-01-01T00:00:00Z", "1900-01-01T00:00:00+00:00"),
        ("1899-12-31T23:59:59.999999Z", None),
        ("2199-12-31T23:59:59.999999Z", "2199-12-31T23:59:59.999999+00:00"),
        ("2200-01-01T00:00:00Z", None),
        ("2013-01-01T10:00:00", None),
        ("2013-01-01T10:00:00Z\0", None),
        ("2013-01-01T10:00:00Z\n", None),
        ("2013-W01-2T10:00:00Z", None),
        ("20130101T100000Z", None),
        ("٢٠١٣-01-01T10:00:00Z", None),
        (1357034400, None),
        (None, None),
    ],
)
def test_a_time_is_iso_8601_with_a_zone(text: object, utc: str | None) -> None:
    found = read_time(text)
    assert (None if found is None else found.isoformat()) == utc


# Modules that read documents which Sluice, a tool or an administrator has written, and no record of a topic.
NO_RECORDS = {
    *(
        "specs/rules/contracts.py",
        "specs/reading/memo.py",
        "provisioning/placement/document.py",
        "kafka/schema_registry.py",
        "kafka/client/tokens.py",
        "devstack/airflow/api.py",
        "intervals/entries.py",
    ),
    *(
        "control/order_breaks.py",
        "control/interval_rows.py",
        "control/index.py",
        "control/cases.py",
        "control/costs.py",
    ),
    *(
        "airflow/batches/backfill_tasks.py",
        "airflow/alerts/services.py",
        "serve/notifier.py",
        "alerts/record.py",
        "audit/log.py",
    ),
    *(
        "cli/views/backfill_view.py",
        "cli/streams/reset.py",
        "cli/terminal/output.py",
        "cli/contracts.py",
        "cli/quality.py",
        "cli/alerts.py",
    ),
    *(
        "delta/log.py",
        "delta/table.py",
        "delta/written_files.py",
        "launch/master.py",
        "spark/driver/progress.py",
        "streams/life/driver_files.py",
    ),
    *(
        "streams/health/batch_log.py",
        "devstack/airflow/configuration.py",
    ),
    *(
        "launch/backfill_lock.py",
        "launch/engine_client.py",
        "launch/launcher.py",
        "cli/stack/stack_steps.py",
        "launch/ports.py",
        "devstack/jars.py",
    ),
    *(  # what Sluice itself has written: code and its parts, trials, reports
        "cli/upgrades/trial.py",
        "intervals/backfill/trial.py",
        "launch/rehearsal.py",
        "project/upgrades.py",
        "specs/code/parts.py",
    ),
    *("proof/journal_file.py", "proof/running/comparison.py", "proof/running/place.py"),  # the same, of a proof
    *("proof/generation/avro_values.py", "proof/generation/protobuf_values.py"),  # schemas
    "spark/session/class_archive.py",
    *("launch/endpoints.py", "spark/checks/sample.py"),  # the last: rows that Spark has written as JSON
    *("spark/backfill/record_rows.py", "spark/tables/output.py"),  # the last: the schema of a table
}
SHARED = {"topics/json_object.py"}


def test_records_are_parsed_by_the_shared_reader_only() -> None:
    """A new module that parses JSON joins the shared reader, and the readers above; or it reads no records."""
    parsing = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Attribute) and node.attr in ("loads", "JSONDecoder", "raw_decode")
    }
    assert parsing == NO_RECORDS | SHARED
