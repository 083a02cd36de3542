from __future__ import annotations

import pytest

from sluice.cli.topics.send import keys_of
from sluice.errors import SpecError


def test_a_key_is_the_text_of_a_field_or_its_json() -> None:
    lines = [b'{"id":"a","n":1}', b'{"id":"\xc3\xa9","n":null}']
    assert keys_of(lines, "id") == [b"a", "é".encode()]
    assert keys_of(lines, "n") == [b"1", b"null"]
    assert keys_of(lines, "") == [None, None]


@pytest.mark.parametrize("line", [b"{", b"[]", b"{}", b"7", b"\xff"])
def test_a_line_without_the_field_is_named_by_its_place_in_the_file(line: bytes) -> None:
    with pytest.raises(SpecError, match="line 12 has no field 'id'"):
        keys_of([b'{"id":1}', line], "id", skip=10)
