"""Types of declared columns in the words of specs."""

from __future__ import annotations

import pytest

from sluice.values.column_types import ddl_of


@pytest.mark.parametrize(
    ("text", "ddl"),
    [
        ("long", "bigint"),
        (" decimal( 18,2 ) ", "decimal(18,2)"),
        ("array<timestamp>", "array<timestamp>"),
        ("map<string, array<long>>", "map<string,array<bigint>>"),
        ("struct<city: string, seen: date>", "struct<`city`:string,`seen`:date>"),
    ],
)
def test_a_type_is_said_in_sparks_words(text: str, ddl: str) -> None:
    assert ddl_of(text) == ddl


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "ends"),
        ("bigint", "'bigint' is no type; write string, long"),
        ("long long", "'long' follows the type"),
        ("decimal(39, 2)", "'39'"),
        ("decimal(4, 5)", "'5'"),
        ("map<long, string>", "'long' where 'string' belongs"),
        ("array<long", "ends"),
        ("struct<>", "'>'"),
        ("array<" * 11 + "long" + ">" * 11, "deeper than 10"),
        ("array<;>", "unknown character"),
    ],
)
def test_what_is_none_is_refused_with_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        ddl_of(text)
    assert message in str(refused.value)
