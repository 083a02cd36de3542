"""Reading YAML: plain data with lines, and no surprise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.specs.reading.document import MAX_BYTES, MAX_DEPTH, Document, parse_document, read_document


def parse(text: str | bytes) -> Document:
    return parse_document(text.encode() if isinstance(text, str) else text, "include/topics/x.yaml")


def only_fault(text: str | bytes) -> str:
    (fault,) = parse(text).faults
    return str(fault)


TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=20)
KEYS = st.text("abcdefghij._- ", min_size=1, max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, VALUES, max_size=4))
@settings(max_examples=50)
def test_json_is_read_back_as_it_was_written(data: dict[str, object]) -> None:
    assert parse(json.dumps(data, ensure_ascii=False)).data == data


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.booleans())
@settings(max_examples=50)
def test_what_a_yaml_writer_quotes_is_read_back_as_it_was_meant(data: dict[str, object], flow: bool) -> None:
    assert parse(yaml.safe_dump(data, default_flow_style=flow, allow_unicode=True)).data == data


@given(st.lists(st.sampled_from(["", "# a note"]), max_size=20))
def test_lines_count_blank_lines_and_comments(above: list[str]) -> None:
    document = parse("\n".join([*above, "a:", "  - b: 1", "  - c: 2"]))
    first = len(above) + 1
    assert [document.line_of(loc) for loc in [("a",), ("a", 0, "b"), ("a", 1, "c")]] == [first, first + 1, first + 2]


def test_a_value_that_is_not_there_has_the_line_of_its_nearest_parent() -> None:
    document = parse("name: x\n\nvalue:\n  fields:\n    id: 1\n")
    assert document.line_of(("value", "fields", "nothing", "below")) == 4
    assert document.line_of(("elsewhere",)) == 1


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_become_a_fault(content: bytes) -> None:
    document = parse(content)
    assert document.data is not None or document.faults


@given(st.text("{}[]:,-?&*!|>'\"%@`#\n \tab1", max_size=120))
def test_any_punctuation_is_read_or_becomes_a_fault(text: str) -> None:
    document = parse(text)
    assert document.data is not None or document.faults


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("no", "no"),
        ("on", "on"),
        ("Yes", "Yes"),
        ("12:30", "12:30"),
        ("1:20:30", "1:20:30"),
        ("010", "010"),
        ("0x1f", "0x1f"),
        ("1_000", "1_000"),
        ("2013-01-01", "2013-01-01"),
        ("2013-01-01 10:00:00", "2013-01-01 10:00:00"),
        ("1e3", "1e3"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("=", "="),
        ("'5'", "5"),
        ("'true'", "true"),
        ("5", 5),
        ("-5", -5),
        ("1.50", 1.5),
        ("true", True),
        ("~", None),
        ("", None),
    ],
)
def test_a_plain_word_means_what_a_reader_takes_it_for(written: str, meant: object) -> None:
    data = parse(f"key: {written}\n").data
    assert data is not None
    assert data["key"] == meant
    assert type(data["key"]) is type(meant)


@pytest.mark.parametrize("key", ["on", "no", "12:30", "2013-01-01", "5", "null", "true"])
def test_a_key_is_the_text_as_written(key: str) -> None:
    assert parse(f"{key}: x\n").data == {key: "x"}


def test_a_key_written_twice_is_refused_at_its_second_line() -> None:
    fault = only_fault("a: 1\nb:\n  c: 1\n  c: 2\n")
    assert fault.startswith("include/topics/x.yaml:4: b.c: the key is written twice; the first time in line 3.")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: &x 1\nb: *x\n", 1, "&x is an anchor"),
        ("a: 1\nb: *x\n", 2, "*x is an alias"),
        ("a: &x [*x]\n", 1, "&x is an anchor"),
        ("a: 1\nb: !!python/object:os.system {}\n", 2, "the tag tag:yaml.org,2002:python/object:os.system"),
        ("a: !secret x\n", 1, "the tag !secret is not supported"),
        ("a: 1\n---\nb: 2\n", 2, "a second document begins"),
        ("a: 1\n? [b]\n: 2\n", 2, "a key that is itself a list or a mapping"),
        ("a: 1\n b: 2\n", 2, "a second `key: value` begins inside of a value"),
        ("a: 'x\n", 1, "a quote is opened here and never closed"),
        ("a: 1\nb: \x07\n", 2, "is not YAML"),
        ("- a\n- b\n", 1, "found a list"),
        ("text\n", 1, "found text"),
        ("", 1, "found nothing"),
        ("# only a comment\n", 1, "found nothing"),
        (b"a: 1\nb: \xff\n", 2, "a byte that is not UTF-8 (0xff)"),
        (b"a: " + b"x" * MAX_BYTES, 1, "is larger than 1024 KiB"),
        ("a: " + "[" * 1_000_000, 1, f"more than {MAX_DEPTH} deep"),
        ("- " * 500_000, 1, f"more than {MAX_DEPTH} deep"),
        ("? " * 500_000, 1, "a key that is itself a list or a mapping"),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_what_a_spec_must_not_use_is_refused_at_its_line(text: str | bytes, line: int, words: str) -> None:
    fault = only_fault(text)
    assert fault.startswith(f"include/topics/x.yaml:{line}: ")
    assert words in fault
    assert parse(text).data is None


def test_a_byte_order_mark_and_windows_line_ends_are_read_over() -> None:
    document = parse(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    assert document.data == {"a": 1, "b": 2}
    assert document.line_of(("b",)) == 2


def test_a_file_that_cannot_be_opened_is_a_fault(tmp_path: Path) -> None:
    (fault,) = read_document(tmp_path / "absent.yaml", "include/topics/absent.yaml").faults
    assert str(fault) == "include/topics/absent.yaml:1: cannot be read: No such file or directory."
