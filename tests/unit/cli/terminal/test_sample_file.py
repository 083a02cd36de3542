"""A sample file is read as bytes, line by line; what is no sample is refused in words."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest

from sluice.cli.terminal.sample_file import LINE_BYTES, SAMPLE_BYTES, read_sample
from sluice.errors import SpecError


def sample(tmp_path: Path, content: bytes) -> str:
    path = tmp_path / "sample.jsonl"
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b'{"a": 1}\n{"a": 2}\n', [b'{"a": 1}', b'{"a": 2}']),
        (b'{"a": 1}', [b'{"a": 1}']),
        (b'{"a": 1}\r\n{"a": 2}\r\n', [b'{"a": 1}', b'{"a": 2}']),
        (b"1\n\n2\n", [b"1", b"", b"2"]),
        (b"\n", [b""]),
        (b"\xff\xfe no UTF-8\n", [b"\xff\xfe no UTF-8"]),
    ],
)
def test_every_line_is_a_value_as_a_producer_would_send_it(tmp_path: Path, content: bytes, lines: list[bytes]) -> None:
    assert read_sample(sample(tmp_path, content)) == lines
    assert read_sample(sample(tmp_path, gzip.compress(content))) == lines


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1\n2\n")))
    assert read_sample("-") == [b"1", b"2"]


def test_empty_standard_input_is_named_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(SpecError, match="standard input is empty"):
        read_sample("-")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (gzip.compress(b""), "is empty"),
        (b"{}\nPAR1\0\0", "is binary: line 2 holds a zero byte"),
        (b"{}\n" + b"x" * (LINE_BYTES + 1), "line 2 of .* has 1,048,577 bytes"),
        (b"\n" * (SAMPLE_BYTES + 1), "holds more than 16,777,216 bytes"),
        (gzip.compress(b"\n" * (SAMPLE_BYTES + 1)), "holds more than 16,777,216 bytes"),
        (gzip.compress(b"{}\n")[:-9], "cannot be read"),
        (gzip.compress(b"{}\n")[:-8] + b"\0" * 8, "cannot be read"),
    ],
    ids=["empty", "empty gzip", "binary", "huge line", "too much", "gzip bomb", "truncated gzip", "damaged gzip"],
)
def test_what_is_no_sample_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(SpecError, match=words) as refusal:
        read_sample(sample(tmp_path, content))
    assert refusal.value.fix


def test_a_line_as_long_as_a_record_may_be_is_taken(tmp_path: Path) -> None:
    assert len(read_sample(sample(tmp_path, b"x" * LINE_BYTES))[0]) == LINE_BYTES


def test_a_file_that_is_not_there_or_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"nothing\.jsonl cannot be read: .*No such file"):
        read_sample(str(tmp_path / "nothing.jsonl"))
    with pytest.raises(SpecError, match="Is a directory"):
        read_sample(str(tmp_path))
