"""LIKE patterns for Great Expectations' Spark engine, which knows only regular expressions."""

from __future__ import annotations

import re

from pydantic import JsonValue

from sluice.specs.expectations.model import Expectation

_ESCAPE = "\\"


def as_spark_knows(declared: Expectation) -> Expectation:
    """Return an expectation that means the same and can be evaluated on Spark; itself if it is about no LIKE pattern.

    Raises:
        ValueError: a pattern ends with its escape character.
    """
    if "like_pattern" not in declared.expect:
        return declared
    kwargs = dict(declared.kwargs)
    escape = str(kwargs.pop("escape", None) or _ESCAPE)
    spelled: dict[str, JsonValue] = {}
    for key, value in kwargs.items():
        if key == "like_pattern":
            spelled["regex"] = like_as_regex(str(value), escape)
        elif key == "like_pattern_list" and isinstance(value, list):
            spelled["regex_list"] = [like_as_regex(str(pattern), escape) for pattern in value]
        else:
            spelled[key] = value
    return declared.model_copy(
        update={"expect": declared.expect.replace("like_pattern", "regex"), "kwargs": spelled},
    )


def like_as_regex(pattern: str, escape: str = _ESCAPE) -> str:
    """Return the regular expression (Java, Python) of a LIKE pattern: `%` is any text, `_` one character.

    Raises:
        ValueError: the pattern ends with the escape character.
    """
    regex, escaped = "", False
    for character in pattern:
        if not escaped and character == escape:
            escaped = True
            continue
        wild = None if escaped else {"%": ".*", "_": "."}.get(character)
        regex += wild or re.escape(character)
        escaped = False
    if escaped:
        raise ValueError(f"the pattern {pattern!r} ends with its escape character {escape!r}")
    return rf"(?s)\A{regex}(?!.)"
