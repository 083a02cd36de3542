"""`sluice new topic --sample` of columns and of lines of text: its spec reads every line of the sample."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from sluice.cli.main import app
from sluice.cli.scaffold.samples import SampleChoices, SampleFormat, TopicDraft, draft_of
from sluice.cli.scaffold.topics import time_of, topic_text
from sluice.errors import SpecError
from sluice.provisioning.importing.columns import DELIMITERS
from sluice.provisioning.importing.texts import takes
from sluice.specs.load import load_catalog
from sluice.specs.model.model import TopicSpec, TopicValue
from sluice.specs.reading.document import parse_document
from sluice.topics.declared_value import parse_fields
from sluice.values.delimited import join_line

CSV = SampleChoices(SampleFormat.CSV)
ORDERS = """Order Id;Placed At;customer;amount;vip;ZIP;note;empty;valueDate;€
1;31.01.2026 12:00;"Anna; the 1st";12.50;true;01067;"a ""b"" c";;2026-02-01;1
2;01.02.2026 12:30;Bob;3;false;80331;;;2026-02-02;2
"""
COMBINED = r"""10.0.0.1 - bob [10/Oct/2025:13:55:36 -0700] "GET /a \"x\" HTTP/1.1" 200 2326 "-" "Mozilla/5.0 (X11)"
10.0.0.2 - - [10/Oct/2025:13:55:37 -0700] "GET / HTTP/1.1" 304 - "http://a/" "curl"
"""
COMMON = '10.0.0.1 - - [10/Oct/2025:13:55:36 -0700] "GET / HTTP/1.1" 200 2326\n'
SYSLOG = r"""<34>1 2026-10-11T22:14:15.003Z host.example su - ID47 - 'su root' failed
<165>1 2026-08-24T05:14:15.000003-07:00 192.0.2.1 app 8710 - [ex@32473 iut="3" s="A\]\"pp"][b@1] It's time
<0>1 2026-08-24T05:14:15Z - - - - -
"""
LEVELS = "2026-01-01 12:00:00,123 INFO  started\n2026-01-01 12:00:01,456 ERROR it's broken: x=1\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "include").mkdir()
    (tmp_path / "dags").mkdir()
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    return tmp_path


def new(home: Path, sample: str | bytes, *options: str) -> tuple[TopicSpec, str, str]:
    """Return the topic that is written for a sample, its YAML, and what the command says."""
    file = home / "sample"
    file.write_bytes(sample if isinstance(sample, bytes) else sample.encode())
    answer = CliRunner().invoke(app, ["new", "topic", "t", "--sample", str(file), *options])
    if isinstance(answer.exception, SpecError):
        raise answer.exception
    assert answer.exit_code == 0, answer.output
    text = (home / "include/topics/t.yaml").read_text()
    return load_catalog(home / "include").topics["t"], text, " ".join(answer.output.split())


def refused(sample: bytes, choices: SampleChoices = SampleChoices()) -> SpecError:  # noqa: B008 - frozen
    with pytest.raises(SpecError) as error:
        draft_of("t", sample, "s", choices)
    assert error.value.fix
    return error.value


def value_of(draft: TopicDraft, name: str = "t") -> TopicValue:
    text = topic_text(
        name, draft.fields, time_of(draft.fields), partitions=1, owner="", left_out=draft.left_out, form=draft.form
    )
    document = parse_document(text.encode(), "t.yaml")
    assert document.faults == ()
    return TopicSpec.model_validate_json(json.dumps(document.data)).value


def assert_reads(value: TopicValue, lines: list[str]) -> None:
    """Every line decodes, and has all that is required."""
    for line in lines:
        fields = parse_fields(line.encode(), value)
        for name, field in value.fields.items():
            assert name in fields or not field.required, (name, line)
            assert name not in fields or takes(field, str(fields[name])), (name, line)


def words(value: TopicValue) -> dict[str, str]:
    return {name: field.words + ("!" if field.required else "") for name, field in value.fields.items()}


def test_columns_get_names_and_types_and_nothing_is_lost_in_silence(home: Path) -> None:
    topic, text, said = new(home, ORDERS)
    value = topic.value
    assert (value.format, value.delimiter, value.event_time) == ("csv", ";", "placed_at")
    names = ("order_id", "placed_at", "customer", "amount", "vip", "zip", "note", "empty", "value_date", "column_10")
    assert value.columns == names
    assert words(value) == {
        "order_id": "long!",
        "placed_at": "timestamp!",
        "customer": "string!",
        "amount": "double!",
        "vip": "boolean!",
        "zip": "string!",
        "note": "string",
        "value_date": "date!",
        "column_10": "long!",
    }
    assert (value.fields["placed_at"].format, value.fields["placed_at"].zone) == ("dd.MM.yyyy HH:mm", "UTC")
    assert_reads(value, ORDERS.splitlines()[1:])
    for note in (
        "records of the topic have none: `sluice topics send` leaves it out with --skip 1.",
        "placed_at: names no zone; see that the form and the zone are right.",
        "zip: numbers with zeros in front, which a number would lose; kept as text.",
        "named otherwise than in the header: order_id (column 1, 'Order Id')",
        "column_10 (column 10, '€')",
        "columns that are no field, for they were always empty: empty.",
        "To replay them, write `arrival_time: placed_at`",
    ):
        assert note in said
    assert "    # columns that are no field, for they were always empty: empty.\n" in text
    assert all(len(line) <= 115 for line in text.splitlines()), "it is read in an editor"


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_each_delimiter_is_recognised(home: Path, delimiter: str) -> None:
    lines = [delimiter.join(row) for row in (["id", "at", "no"], ["1", "2026-01-01T12:00:00Z", "x"])]
    topic, text, _ = new(home, "\r\n".join(lines) + "\r\n", "--event-time", "at")
    assert (topic.value.delimiter or ",") == delimiter
    assert ("delimiter:" in text) is (delimiter != ",")
    assert list(topic.value.fields) == ["id", "at", "no"]
    assert_reads(topic.value, lines[1:])


def test_a_byte_order_mark_and_empty_lines_are_named(home: Path) -> None:
    topic, _, said = new(home, b"\xef\xbb\xbfid,at\n1,2026-01-01T12:00:00Z\n\n")
    assert list(topic.value.fields) == ["id", "at"]
    assert "The file begins with a byte order mark" in said
    assert "1 empty line in the sample" in said


def test_names_that_are_there_twice_or_are_none_are_told_apart(home: Path) -> None:
    topic, _, said = new(home, "at,a,a,A b,a-b,,null,1st,on\n2026-01-01T12:00:00Z,1,2,3,4,5,6,7,8\n")
    names = ["at", "a", "a_2", "a_b", "a_b_2", "column_6", "null", "column_8", "on"]
    assert list(topic.value.fields) == list(topic.value.columns or ()) == names
    assert "the header has a name more than once, and each column another here: a." in said
    assert "column_6 (column 6, without a name), column_8 (column 8, '1st')" in said


def test_a_date_is_not_guessed_where_day_and_month_could_be_either(home: Path) -> None:
    sample = "id,at\n1,01/02/2026 10:00:00\n2,03/04/2026 10:00:00\n"
    with pytest.raises(SpecError, match=r"no field .* is a time.*a date as dd/MM/yyyy HH:mm:ss or as MM/dd/yyyy"):
        new(home, sample)
    topic, _, _ = new(home, sample, "--month-first")
    assert topic.value.fields["at"].format == "MM/dd/yyyy HH:mm:ss"


@pytest.mark.parametrize(
    ("sample", "said"),
    [
        (b"id,at\n1,2026-01-01T12:00:00Z\n2\n3,b,c\n", r"these have not: line 3 \(1 column\), line 4 \(3 columns\)"),
        (b'id,at,x\n1,2,3\n1,2,3\n1,2,3\n4,"5\n6",7\n', r"line 5 \(broken quotes\), line 6 \(broken quotes\)"),
        (b"1,2026-01-01T12:00:00Z\n2,2026-01-01T12:00:00Z\n", r"no header: it has values and no names in column 1"),
        (b",\n1,2\n", "no header: it names no column"),
        (b"id,at\n", "a header, and no line below it"),
        (b"\n\n", "no delimiter divides"),
        (b"id at\n1 2\n", "no delimiter divides"),
        (b"id,at\n1,\xe9\n", r"line 2 of s is not UTF-8 \(byte 3 of the line, 0xe9\)"),
        (b"\xff\xfei\0d\0", "is UTF-16"),
        (b"id,at\n1,\0\n", "is binary: byte 9 is zero"),
    ],
)
def test_columns_with_faults_are_refused_with_all_of_them(sample: bytes, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        draft_of("t", sample, "s", CSV)
    assert refused(sample, CSV)


def test_what_is_ragged_is_refused_without_being_forced_if_most_lines_fit() -> None:
    assert "line 4 (1 column)" in refused(b"id,at\n1,a\n2,b\n3\n").message


@pytest.mark.parametrize(
    ("sample", "fields", "event_time"),
    [
        (COMBINED, "host! user at! request status! size referer user_agent", "at"),
        (COMMON, "host! at! request status! size", "at"),
        (LEVELS, "at! level! message", "at"),
        ("2026-01-01T12:00:00Z [main] WARN  a - b\n", "at! thread level! message", "at"),
        ("2026-01-01T12:00:00.5+01:00 [INFO ] b\n", "at! level! message", "at"),
    ],
)
def test_logs_of_well_known_forms_are_recognised(home: Path, sample: str, fields: str, event_time: str) -> None:
    topic, _, said = new(home, sample)
    value = topic.value
    assert value.format == "text"
    assert [name + ("!" if field.required else "") for name, field in value.fields.items()] == fields.split()
    assert value.event_time == event_time
    assert "The sample is read as" in said
    assert_reads(value, sample.splitlines())


def test_syslog_is_recognised_and_its_dashes_are_null(home: Path) -> None:
    topic, _, _ = new(home, SYSLOG)
    last = parse_fields(SYSLOG.splitlines()[2].encode(), topic.value)
    assert last == {"priority": "0", "at": "2026-08-24T05:14:15Z"}
    second = parse_fields(SYSLOG.splitlines()[1].encode(), topic.value)
    assert second["data"] == r"""[ex@32473 iut="3" s="A\]\"pp"][b@1]"""
    assert second["message"] == "It's time"
    assert_reads(topic.value, SYSLOG.splitlines())


def test_who_is_a_number_today_has_a_name_tomorrow(home: Path) -> None:
    topic, _, _ = new(home, COMBINED.replace("bob", "1001"))
    assert topic.value.fields["user"].type == "string"


def test_a_pattern_that_is_given_names_the_fields(home: Path) -> None:
    pattern = r"(?<at>\S+) (?P<shop>[a-z']+) (?<count>\d+)(?: (?<note>.*))?(?<never>x)?"
    topic, text, said = new(home, "2026-01-01T12:00:00Z o'neil 5\n2026-01-01T12:00:00Z b 7 hi\n", "--pattern", pattern)
    assert words(topic.value) == {"at": "timestamp!", "shop": "string!", "count": "long!", "note": "string"}
    assert topic.value.pattern == pattern
    assert "(?P<shop>[a-z'']+)" in text
    assert "groups that are no field, for they were always empty: never." in said


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (
            r"(?<at>\S+) (?<n>\d+)",
            r"1 line of 2 of the sample do not match the pattern: line 2 \(2026-01-01T12:00:00Z x",
        ),
        (r"(?<=a)(?<at>.*)", "not read alike in Java and Python"),
        (r".*", "no named group"),
        (r"(?<At>.*)", "no field can have the name of these groups: At"),
    ],
)
def test_a_pattern_that_does_not_do_is_refused(pattern: str, said: str) -> None:
    choices = SampleChoices(pattern=pattern)
    with pytest.raises(SpecError, match=said):
        draft_of("t", b"2026-01-01T12:00:00Z 1\n2026-01-01T12:00:00Z x\n", "s", choices)


@pytest.mark.parametrize(
    ("sample", "said"),
    [
        (LEVELS.encode() + b"java.lang.Error: x\n", r"2 of 3 lines of the sample are lines of time, level and message"),
        (LEVELS.encode() + b'{"a":1}\n', r"these are not: line 3 \({\"a\":1}\)"),
        (b"Oct 11 22:14:15 host su: x\n", "syslog of RFC 3164, whose times have no year"),
        (b"hello\nworld\n", "no JSON, no header of columns with a delimiter, and no line of a well-known log"),
        (b" \n\n", "only empty lines"),
        (b'{"a":1}\nid,at\n', "line 2 of the sample: it is no JSON"),
        (b"\x0a\x05\x08\x96\x01\xff", "not UTF-8"),
    ],
)
def test_lines_of_no_form_and_mixed_ones_are_refused(sample: bytes, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        draft_of("t", sample, "s", SampleChoices())
    assert refused(sample)


def test_options_that_change_nothing_are_refused(home: Path) -> None:
    with pytest.raises(SpecError, match=r"--pattern is for lines of text, and the sample is csv"):
        new(home, ORDERS, "--format", "csv", "--pattern", "(?<a>.*)")
    with pytest.raises(SpecError, match="--day-first and --month-first are for columns"):
        new(home, '{"at":"2026-01-01T00:00:00Z"}', "--day-first")
    answer = CliRunner().invoke(app, ["new", "topic", "t", "--format", "csv"])
    assert "there is no sample" in str(answer.exception)


CELLS = {
    "long": st.integers(-(2**63), 2**63 - 1).map(str),
    "double": st.floats(allow_nan=False, allow_infinity=False).map(str),
    "boolean": st.sampled_from(["true", "false"]),
    "date": st.dates().map(str),
    "timestamp": st.datetimes(datetime(1950, 1, 1), datetime(2150, 1, 1), timezones=st.just(UTC)).map(  # noqa: DTZ001
        datetime.isoformat
    ),
    "epoch": st.integers(1_100_000_000, 1_900_000_000).map(str),
    "text": st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=("Cs",))),
}
SHAPES = st.lists(st.tuples(st.sampled_from(sorted(CELLS)), st.booleans()), min_size=1, max_size=6)


@given(st.data(), SHAPES, st.sampled_from(DELIMITERS))
def test_whatever_rows_are_every_one_of_them_is_read(
    data: st.DataObject, shape: list[tuple[str, bool]], delimiter: str
) -> None:
    count = data.draw(st.integers(1, 5))
    names = ["at", *(f"{kind}_at" if kind == "epoch" else f"{kind}{n}" for n, (kind, _) in enumerate(shape))]
    rows: list[list[str | None]] = [["2026-01-01T00:00:00Z"] for _ in range(count)]
    for kind, nullable in shape:
        cell = st.one_of(st.none(), CELLS[kind]) if nullable else CELLS[kind]
        for row in rows:
            row.append(data.draw(cell))
    lines = [join_line([*names], delimiter), *(join_line(row, delimiter) for row in rows)]
    value = value_of(draft_of("t", "\n".join(lines).encode(), "s", CSV))
    assert len(value.columns or ()) == len(names)
    assert_reads(value, lines[1:])
    for n, (kind, _) in enumerate(shape):
        cells = [row[n + 1] for row in rows if row[n + 1] is not None]
        name = (value.columns or ())[n + 1]
        assert (name in value.fields) is bool(cells)
        if cells and kind in ("long", "boolean", "date", "timestamp"):
            assert value.fields[name].type == kind
        if cells:
            assert value.fields[name].required is (len(cells) == count)


MESSAGES = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=("Cs",)))


@given(
    st.lists(
        st.tuples(CELLS["timestamp"], st.sampled_from(["INFO", "WARN", "ERROR"]), MESSAGES), min_size=1, max_size=5
    )
)
def test_whatever_a_log_says_every_line_is_read(records: list[tuple[str, str, str]]) -> None:
    lines = [" ".join(record) for record in records]
    value = value_of(draft_of("t", "\n".join(lines).encode(), "s", SampleChoices()))
    assert (value.format, value.fields["at"].type) == ("text", "timestamp")
    assert "message" not in value.fields or value.fields["message"].type == "string"
    assert_reads(value, lines)


@given(st.lists(st.tuples(*CELLS.values()), min_size=1, max_size=4))
def test_whatever_groups_hold_the_pattern_that_is_given_reads_it(records: list[tuple[str, ...]]) -> None:
    lines = ["\t".join(["2026-01-01T00:00:00Z", *record[:-1], json.dumps(record[-1])]) for record in records]
    groups = ["at", *list(CELLS)[:-1]]
    pattern = r"\t".join(f"(?<{name}>[^\\t]*)" for name in groups) + r"\t(?<rest>.*)"
    value = value_of(draft_of("t", "\n".join(lines).encode(), "s", SampleChoices(pattern=pattern)))
    assert_reads(value, lines)
    assert {name: value.fields[name].type.value for name in ("long", "boolean", "date")} == {
        "long": "long",
        "boolean": "boolean",
        "date": "date",
    }
