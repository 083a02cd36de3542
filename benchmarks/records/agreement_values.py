"""Values on which two readings of an expectation could differ, and the expectations that are read over them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

_LONGS = (0, 1, -1, 7, 100, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, -(2**63))
_DOUBLES = (0.0, -0.0, 0.1, 0.30000000000000004, 1.5, 1e308, 5e-324, float("nan"), float("inf"), float("-inf"))
_WORDS = (
    "",
    " ",
    "EWR",
    "ewr",
    "JFK ",
    "100%",
    "a_b",
    "a.b",
    "a\\b",
    "Straße",
    "naïve",
    "日本",
    "🛫y",
    "line\nbreak",
    "%",
)
_PIECES = ("a", "b", "A", "1", "22", "_", "%", ".", "*", "(", "[", "\\", "-", " ", "\n", "é", "é", "ß", "日", "🛫", "'")
_MONTHS = ("Jan", "feb", "MAR", "Apr", "Feb", "sept", "December")


def rows(count: int, seed: int) -> pa.Table:
    """Return rows with columns of every type that a topic can have, a tenth of each null, edges among them."""
    rng = random.Random(seed)  # noqa: S311  no secret
    maybe: Any = lambda value: None if rng.random() < 0.1 else value  # noqa: E731, PLR2004
    base = datetime(2013, 1, 1, tzinfo=UTC)
    moments = [maybe(base + timedelta(microseconds=rng.randrange(10**12))) for _ in range(count)]
    return pa.table(
        {
            "row": pa.array(range(count), pa.int64()),
            "n": pa.array([maybe(_long(rng)) for _ in range(count)], pa.int64()),
            "m": pa.array([maybe(_long(rng)) for _ in range(count)], pa.int64()),
            "few": pa.array([maybe(rng.randrange(4)) for _ in range(count)], pa.int64()),
            "d": pa.array([maybe(_double(rng)) for _ in range(count)], pa.float64()),
            "e": pa.array([maybe(_double(rng)) for _ in range(count)], pa.float64()),
            "s": pa.array([maybe(_text(rng)) for _ in range(count)], pa.string()),
            "t": pa.array([maybe(_text(rng)) for _ in range(count)], pa.string()),
            "day": pa.array([maybe(_time_text(rng)) for _ in range(count)], pa.string()),
            "flag": pa.array([maybe(rng.random() < 0.5) for _ in range(count)], pa.bool_()),  # noqa: PLR2004
            "at": pa.array(moments, pa.timestamp("us", "UTC")),
        }
    )


def _long(rng: random.Random) -> int:
    return rng.choice(_LONGS) if rng.random() < 0.3 else rng.randrange(-50, 200)  # noqa: PLR2004


def _double(rng: random.Random) -> float:
    return rng.choice(_DOUBLES) if rng.random() < 0.3 else round(rng.uniform(-5, 20), 1)  # noqa: PLR2004


def _text(rng: random.Random) -> str:
    if rng.random() < 0.3:  # noqa: PLR2004
        return rng.choice(_WORDS)
    return "".join(rng.choices(_PIECES, k=rng.randrange(12)))


def _time_text(rng: random.Random) -> str:
    """Return a text that looks like a time, often nearly one."""
    year, month, day = rng.choice((0, 1, 1900, 2000, 2013, 2023, 2024, 9999)), rng.randrange(14), rng.randrange(33)
    hour, minute, second = rng.randrange(26), rng.randrange(62), rng.randrange(63)
    zone = rng.choice(("", "Z", "z", "+01:00", "+0100", "+25:00", "-00:60", "+01:0203", "+01:02:03", "+010203.5"))
    clock = f"{hour:02}:{minute:02}:{second:02}"
    text = rng.choice(
        (
            f"{year:04}-{month:02}-{day:02}",
            f"{year:04}-{month}-{day}",
            f"{day:02}/{month:02}/{year % 100:02}",
            f"{year:04}-{month:02}-{day:02}T{clock}{zone}",
            f"{year:04}-{month:02}-{day:02}  {clock}.{rng.randrange(10**7)}",
            f"{rng.choice(_MONTHS)} {day}, {year:04} {hour % 13}:{minute:02} {rng.choice(('am', 'PM', 'xm'))}",
        )
    )
    if rng.random() < 0.1:  # noqa: PLR2004
        place = rng.randrange(len(text) + 1)
        text = text[:place] + rng.choice(_PIECES) + text[place + rng.randrange(2) :]
    return text


def expectations() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each type of expectation about single rows, with arguments that make it do all that it can."""
    of = "expect_column_values_to_"
    yield f"{of}not_be_null", {"column": "s"}
    yield f"{of}be_null", {"column": "d"}
    yield f"{of}be_between", {"column": "n", "min_value": 0, "max_value": 100, "strict_max": True}
    yield f"{of}be_between", {"column": "d", "min_value": -0.0, "strict_min": True}
    yield f"{of}be_between", {"column": "at", "min_value": "2013-01-04T00:00:00Z", "max_value": "2013-01-09T12:00:00Z"}
    yield f"{of}be_between", {"column": "n", "max_value": 50, "row_condition": "few = 1", "condition_parser": "spark"}
    yield f"{of}be_in_set", {"column": "s", "value_set": ["EWR", "100%", ""]}
    yield f"{of}be_in_set", {"column": "d", "value_set": [0, 1.5, 0.1]}
    yield f"{of}not_be_in_set", {"column": "n", "value_set": [0, 7, 2**53]}
    yield "expect_column_distinct_values_to_be_in_set", {"column": "few", "value_set": [0, 3]}
    yield "expect_column_value_lengths_to_be_between", {"column": "s", "min_value": 1, "max_value": 4}
    yield "expect_column_value_lengths_to_equal", {"column": "t", "value": 3}
    yield from _patterns(of)
    for text in ("%Y-%m-%d", "%d/%m/%y", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S.%f", "%b %d, %Y %I:%M %p"):
        yield f"{of}match_strftime_format", {"column": "day", "strftime_format": text}
    yield f"{of}be_of_type", {"column": "n", "type_": "LongType"}
    yield f"{of}be_of_type", {"column": "at", "type_": "StringType"}
    yield f"{of}be_in_type_list", {"column": "flag", "type_list": ["BooleanType", "LongType"]}
    yield f"{of}be_in_type_list", {"column": "d", "type_list": ["StringType", "LongType"]}
    pair = {"column_A": "n", "column_B": "m"}
    yield "expect_column_pair_values_a_to_be_greater_than_b", pair
    for ignored in ("both_values_are_missing", "either_value_is_missing", "neither"):
        more = {**pair, "or_equal": True, "ignore_row_if": ignored}
        yield "expect_column_pair_values_a_to_be_greater_than_b", more
        yield "expect_column_pair_values_to_be_equal", {"column_A": "d", "column_B": "e", "ignore_row_if": ignored}
    in_set = {"column_A": "few", "column_B": "flag", "value_pairs_set": [[0, True], [1, False], [2, None]]}
    yield "expect_column_pair_values_to_be_in_set", {**in_set, "ignore_row_if": "either_value_is_missing"}
    yield "expect_column_pair_values_to_be_in_set", in_set
    for ignored in ("all_values_are_missing", "any_value_is_missing", "never"):
        longs = {"column_list": ["n", "m", "few"], "ignore_row_if": ignored}
        yield "expect_multicolumn_sum_to_equal", {**longs, "sum_total": 100}
        yield "expect_multicolumn_values_to_be_equal", {**longs, "column_list": ["few", "n"]}
        yield "expect_select_column_values_to_be_unique_within_record", longs
    yield "expect_multicolumn_sum_to_equal", {"column_list": ["d", "e"], "sum_total": 3.0}
    yield "unexpected_rows_expectation", {"unexpected_rows_query": "SELECT * FROM {batch} WHERE few > 2 OR s = 'EWR';"}


def _patterns(of: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield f"{of}match_regex", {"column": "s", "regex": "^[a-z].*[0-9]"}
    yield f"{of}not_match_regex", {"column": "s", "regex": r"\s|%"}
    yield f"{of}match_regex_list", {"column": "s", "regex_list": ["a", "^b"], "match_on": "all"}
    yield f"{of}match_regex_list", {"column": "s", "regex_list": ["^a", "日$"]}
    yield f"{of}not_match_regex_list", {"column": "s", "regex_list": ["^a", "日$"]}
    yield f"{of}match_like_pattern", {"column": "s", "like_pattern": "a%"}
    yield f"{of}match_like_pattern", {"column": "s", "like_pattern": "%_x_%", "escape": "x"}
    yield f"{of}not_match_like_pattern", {"column": "s", "like_pattern": "_b%"}
    yield f"{of}match_like_pattern_list", {"column": "s", "like_pattern_list": ["%a%", "%1"], "match_on": "all"}
    yield f"{of}match_like_pattern_list", {"column": "s", "like_pattern_list": ["___", "EW%"], "match_on": "any"}
    yield f"{of}not_match_like_pattern_list", {"column": "s", "like_pattern_list": ["%a%", "E%"]}
