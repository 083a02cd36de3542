from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.topics.printable import printable_bytes, printable_line


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b'{"id": 1}', '{"id": 1}'),
        ("größer 東京 🙂".encode(), "größer 東京 🙂"),
        (b"\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        (b"two\r\nlines\t", r"two\r\nlines\t"),
        (b"\xc2\x9b31m", r"\x9b31m"),
        ("\u202etxt.exe\u2066".encode(), r"\u202etxt.exe\u2066"),
        (b"a\xff\xfeb\x00", r"a\xff\xfeb\x00"),
        ("\u2028".encode(), r"\u2028"),
        (b"", ""),
    ],
)
def test_nothing_reaches_the_terminal_but_what_can_be_read(data: bytes, shown: str) -> None:
    assert printable_bytes(data) == shown


def test_a_long_value_is_cut_and_its_length_told() -> None:
    assert printable_bytes(b"x" * 10_000, 4) == "xxxx… (10,000 bytes)"
    assert printable_bytes(b"xxxx", 4) == "xxxx"


def test_a_cut_splits_no_character() -> None:
    assert printable_bytes("aé".encode() * 3, 2) == "a… (9 bytes)"
    assert printable_bytes("🙂🙂".encode(), 7) == "🙂… (8 bytes)"
    assert printable_bytes(b"a\xff\xff", 2) == r"a\xff… (3 bytes)"


@given(st.binary(max_size=80), st.none() | st.integers(1, 90))
def test_whatever_the_bytes_one_printable_line_comes_out(data: bytes, most: int | None) -> None:
    shown = printable_bytes(data, most)
    assert not [c for c in shown if unicodedata.category(c)[0] == "C" or c in "\u2028\u2029"]
    if most is None and "\\" not in data.decode(errors="ignore"):
        assert ("\\" in shown) == (shown.encode() != data)


def test_names_that_others_choose_are_safe_too() -> None:
    assert printable_line("a\x1b[31m\ud800") == r"a\x1b[31m\ud800"
