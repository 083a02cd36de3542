"""Expressions that Java and Python read alike, and the others with what to write."""

from __future__ import annotations

import pytest

from sluice.values.delimited import join_line, split_line, without_end
from sluice.values.line_pattern import line_pattern

ACCESS = r'(?<host>\S+) \[(?P<at>[^\]]+)\] "(?<request>[^"]*)" (?<status>\d{3}) (?:(?<size>\d+)|-)'


def test_named_groups_are_fields() -> None:
    pattern = line_pattern(ACCESS)
    assert pattern.groups == {"host": 1, "at": 2, "request": 3, "status": 4, "size": 5}
    assert pattern.java == r'(\S+) \[([^\]]+)\] "([^"]*)" (\d{3}) (?:(\d+)|-)'
    assert pattern.read('h [x] "" 200 -') == {"host": "h", "at": "x", "status": "200"}
    assert pattern.read('h [x] "" 20 -') is None
    assert pattern.read('h [x] "" 200 -\n') is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(?<a>x", "no regular expression"),
        ("(a)", "no named group"),
        ("(?<a>x)(?<a>y)", "redefinition"),
        (r"(?<a>\bx)", r"\b is not read alike"),
        (r"(?<a>x)\1", r"\1 is not read alike"),
        ("(?i)(?<a>x)", "is not read alike"),
        ("(?<=y)(?<a>x)", "is not read alike"),
        ("(?>y)(?<a>x)", "is not read alike"),
        ("(?<a>x*+)", "possessive"),
        ("(?<a>x{2}+)", "possessive"),
        ("(?<a>{x})", "a { that repeats nothing"),
        ("(?<a>x{,3})", "a { that repeats nothing"),
        ("(?<a>[a[b]])", "[ inside [...]"),
        ("(?<a>[a&&b])", "&& inside [...]"),
        ("(?<a>[]a])", "[] is not read alike"),
        ("(?<a>[a)", "a [ is not closed"),
        ("(?<a>x)\\", "a backslash stands before nothing"),
    ],
)
def test_what_the_two_would_not_read_alike_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        line_pattern(text)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        ("a;b", ["a", "b"]),
        ("", [None]),
        (";", [None, None]),
        ('"";x', ["", "x"]),
        ('"a;""b""";', ['a;"b"', None]),
        ('"a\nb"', ["a\nb"]),
        ('a"b', None),
        ('"a"b', None),
        ('"a', None),
        ("a\rb", None),
    ],
)
def test_columns_are_quoted_as_rfc_4180_has_it(line: str, columns: list[str | None] | None) -> None:
    assert split_line(line, ";") == columns
    if columns is not None:
        assert split_line(join_line(columns, ";"), ";") == columns


def test_one_line_end_does_not_belong_to_a_line() -> None:
    assert [without_end(text) for text in ("a\r\n", "a\n", "a\r", "a\n\n")] == ["a", "a", "a\r", "a\n"]
