"""LIKE patterns as regular expressions, against SQLite."""

from __future__ import annotations

import re
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.gx.like import as_spark_knows, like_as_regex
from sluice.specs.expectations.model import Expectation, Severity

TEXT = st.text(st.sampled_from("aAbé%_x.\\*(\n 🛫"), max_size=8)


@given(TEXT, TEXT)
def test_a_pattern_finds_what_sql_finds(text: str, pattern: str) -> None:
    if re.fullmatch(r"(xx|x[^x]|[^x])*", pattern, re.DOTALL) is None:
        with pytest.raises(ValueError, match="ends with its escape"):
            like_as_regex(pattern, "x")
        return
    with sqlite3.connect(":memory:") as database:
        database.execute("PRAGMA case_sensitive_like = ON")
        (expected,) = database.execute("SELECT ? LIKE ? ESCAPE 'x'", (text, pattern)).fetchone()
    database.close()
    assert bool(re.search(like_as_regex(pattern, "x"), text)) == bool(expected)


def test_an_expectation_about_patterns_becomes_one_about_regular_expressions() -> None:
    given_ = {"column": "a", "like_pattern_list": ["x%", "%y"], "match_on": "all", "escape": "!", "mostly": 0.5}
    declared = Expectation(
        expect="expect_column_values_to_match_like_pattern_list", kwargs=given_, severity=Severity.WARNING
    )
    spelled = as_spark_knows(declared)
    assert spelled.expect == "expect_column_values_to_match_regex_list"
    assert spelled.kwargs == {
        "column": "a",
        "regex_list": [r"(?s)\Ax.*(?!.)", r"(?s)\A.*y(?!.)"],
        "match_on": "all",
        "mostly": 0.5,
    }
    assert spelled.severity is Severity.WARNING


def test_any_other_expectation_stays() -> None:
    declared = Expectation(expect="expect_column_values_to_not_be_null", kwargs={"column": "like_pattern"})
    assert as_spark_knows(declared) is declared
