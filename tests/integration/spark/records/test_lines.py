"""Lines of text and times in forms of their own: the decoder in the JVM reads what Python reads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from sluice.provisioning.importing.texts import takes
from sluice.spark.records.validation import DETAIL, REASON, validate
from sluice.specs.model.model import TopicValue
from sluice.specs.model.sources import TimeRules
from sluice.topics.declared_time import read_time, write_time
from sluice.topics.declared_value import read_fields
from sluice.values.delimited import join_line

AT = datetime(2013, 1, 1, 10, tzinfo=UTC)
LONG_AGO = timedelta(days=400 * 365)
ACCESS = r'(?<host>\S+) \S+ (?<user>\S*) \[(?<at>[^\]]+)\] "(?<request>[^"]*)" (?<status>\d{3}) (?:(?<size>\d+)|-)'
LINE = '10.0.0.1 - bob [01/Jan/2013:10:00:00 +0000] "GET /ä HTTP/1.1" 200 2326'
LOG: dict[str, Any] = {
    "format": "text",
    "pattern": ACCESS,
    "event_time": "at",
    "arrival_time": "broker",
    "fields": {
        "host": {"type": "string"},
        "user": {"type": "string"},
        "request": {"type": "string"},
        "at": {"type": "timestamp", "format": "dd/MMM/yyyy:HH:mm:ss Z"},
        "status": {"type": "string"},
        "size": {"type": "string"},
    },
}
CSV: dict[str, Any] = {
    "format": "csv",
    "delimiter": ";",
    "event_time": "at",
    "arrival_time": "broker",
    "fields": {"id": {"type": "string"}, "at": {"type": "timestamp", "zone": "+01:00"}, "note": {"type": "string"}},
}
FORMS = (
    "EEE, d MMM yyyy h:mm:ss a xxx",
    "yyyyMMdd'T'HHmmssX",
    "yyyy-MM-dd HH:mm:ss.SSSSSSSSS XXX",
    "d.M.yyyy H:m:s xx",
)


def rows_of(spark: SparkSession, said: dict[str, Any], lines: list[bytes], *without: str) -> list[Row]:
    value = TopicValue.model_validate(said)
    records = [(n, bytearray(line), AT) for n, line in enumerate(lines)]
    frame = spark.createDataFrame(records, "n int, _value binary, _timestamp timestamp")
    rules = TimeRules(allowed_lateness=LONG_AGO, future_skew=LONG_AGO)
    return sorted(validate(frame, value, rules).drop("_value", "_timestamp", *without).collect())


def mutated(random: Random, line: str) -> bytes:
    pieces = ["", '"', '""', ";", " ", "\n", "\r\n", "[", "x", "ä", "🙂", "\u2028", "\x0b", "\u0663", "9", "-"]
    for _ in range(random.choice([0, 1, 1, 2])):
        at = random.randrange(len(line) + 1)
        line = line[:at] + random.choice(pieces) + line[at + random.randrange(3) :]
    return line.encode() if random.random() < 0.97 else line.encode()[:-1] + b"\xc3"


@pytest.mark.parametrize(
    ("said", "line"), [(LOG, LINE), (CSV, '7;2013-01-01 10:00:00;"a ""b"";"'), (CSV, "7;2013-01-01T10:00;")]
)
def test_lines_are_read_as_python_reads_them(spark: SparkSession, said: dict[str, Any], line: str) -> None:
    random = Random(7)
    lines = [line.encode(), *(mutated(random, line) for _ in range(3000))]
    value = TopicValue.model_validate(said)
    seen = set()
    for row, raw in zip(rows_of(spark, said, lines), lines, strict=True):
        fields = read_fields(raw, value)
        seen.add(row[REASON])
        if row[REASON] == "empty":
            continue
        assert (row[REASON] == "malformed") is (fields is None), (raw, row)
        at = None if fields is None or "at" not in fields else read_time(fields["at"], value.fields["at"])
        assert (row[REASON] is None) is (at is not None), (raw, row, at)
        if row[REASON] is None and fields is not None and at is not None:
            assert {name: row[name] for name in value.fields if name != "at" and row[name] is not None} == {
                name: text for name, text in fields.items() if name != "at"
            }
            assert row["at"] == at.astimezone().replace(tzinfo=None)
    assert seen >= {None, "malformed", "wrong_type"}


def test_times_in_forms_are_read_as_python_reads_them(spark: SparkSession) -> None:
    random = Random(7)
    for form in FORMS:
        field = {"type": "timestamp", "format": form}
        said = {**CSV, "fields": {"at": field}}
        value = TopicValue.model_validate(said)
        pattern = value.fields["at"]
        moments = [AT + timedelta(seconds=random.randrange(-(10**9), 10**9)) for _ in range(300)]
        zeros = random.choices(range(10), k=300)
        texts = [_written(pattern, at, random, n) for at, n in zip(moments, zeros, strict=True)]
        rows = rows_of(spark, said, [f'"{text}"'.encode() for text in texts])
        for row, text in zip(rows, texts, strict=True):
            at = read_time(text, pattern)
            if row[REASON] == "out_of_range":  # it is a time, of another age
                assert at is None, (form, text)
                continue
            assert row["at"] == (None if at is None else at.astimezone().replace(tzinfo=None)), (form, text)
        assert {row[REASON] for row in rows} >= {None, "wrong_type"}


def _written(field: Any, at: datetime, random: Random, dice: int) -> str:  # noqa: ANN401
    text = str(write_time(at, field))
    if dice < 5:
        return text
    place = random.randrange(len(text))
    return text[:place] + random.choice(["", "0", "1", "9", " ", "Z", "-"]) + text[place + 1 :]


def test_what_is_wrong_with_a_line_is_said(spark: SparkSession) -> None:
    fields = {
        "id": {"type": "integer", "required": True},
        "at": {"type": "timestamp", "zone": "UTC"},
        "price": {"type": "decimal", "precision": 5, "scale": 2},
        "up": {"type": "boolean"},
        "ratio": {"type": "double"},
        "day": {"type": "date", "format": "dd.MM.yyyy"},
    }
    good = b"007;2013-01-01 10:00;1.50;true;1e3;31.12.2012"
    lines = {
        good: None,
        b"x" + good[1:]: "id is no whole number of 32 bits",
        good.replace(b"007", b"2147483648"): "id is no whole number of 32 bits",
        good.replace(b"007", b""): "id is absent or null",
        good.replace(b"1.50", b"1.555"): "price is no number of at most 5 digits, 2 of them after the point",
        good.replace(b"true", b"True"): "up is no boolean",
        good.replace(b"1e3", b"NaN"): "ratio is no finite number",
        good.replace(b"1e3", b"1e400"): "ratio is no finite number",
        good.replace(b"31.12", b"31.11"): "day is no date of the declared format",
        good + b";": "7 columns, and not 6",
        good + b'"': "the quoting is broken",
    }
    rows = rows_of(spark, {**CSV, "fields": fields}, [*lines])
    assert [row[DETAIL] for row in rows] == [*lines.values()]
    assert (rows[0]["id"], str(rows[0]["price"]), rows[0]["day"].isoformat()) == (7, "1.50", "2012-12-31")


def test_parts_of_lines_are_taken_as_the_inference_of_samples_says(spark: SparkSession) -> None:
    random = Random(11)
    kinds: list[dict[str, Any]] = [
        {"type": kind} for kind in ("long", "integer", "double", "boolean", "timestamp", "date")
    ]
    kinds += [
        {"type": "timestamp", "zone": "UTC"},
        {"type": "timestamp", "epoch": "milliseconds"},
        {"type": "timestamp", "format": "dd.MM.yyyy HH:mm", "zone": "UTC"},
        {"type": "date", "format": "d/M/yyyy"},
    ]
    seeds = ["7", "-0.5e3", "true", "2013-01-01T10:00:00.5Z", "2013-01-31", "1357034400000", "31.01.2013 10:00"]
    seeds += ["9223372036854775807", "1/2/2013", "NaN", "1e400", "007", "2147483648", "-0"]
    texts = [seed if n < 2 else _mutated_part(random, seed) for seed in seeds for n in range(40)]
    for kind in kinds:
        said = {**CSV, "fields": {"value": kind, "at": {"type": "timestamp"}}}
        field = TopicValue.model_validate(said).fields["value"]
        lines = [join_line([text, "2013-01-01T10:00:00Z"], ";").encode() for text in texts]
        for row, text in zip(rows_of(spark, said, lines, "value"), texts, strict=True):  # a time beyond all years
            assert (row[REASON] is None) is takes(field, text), (kind, text, row)


def _mutated_part(random: Random, text: str) -> str:
    at = random.randrange(len(text) + 1)
    piece = random.choice(["", "0", "1", "9", " ", "Z", "-", ".", "e", "+", "\u0663"])
    return text[:at] + piece + text[at + random.randrange(2) :]
