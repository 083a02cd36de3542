"""Declarations of nested values, and records that are as declared, nearly, or not at all. For Hypothesis."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.nested_oracle import INSTANTS, LOG_FORM

KEYS = ("a", "b", "c", "inner_id", "count")
PATHS = ("$.meta.x", "$.box.a", "$.box['B c'].d", "$['Odd Key']", "$.box.User.id", "$.a.b", "$.a.b.c")
AT = {"type": "timestamp", "required": True, "path": "$.meta.at"}
"""The event time of every value."""

_TEXTS = st.sampled_from(
    ["", "a", "b", "NaN", "-INF", "1", "true", "\ud83d\ude42", "AAE=", "AAE", "AAF=", "äö", "Zm9v"]
)
_TIMES = st.sampled_from([*INSTANTS])
_DATES = st.sampled_from(["2013-01-31", "2013-02-30", "2012-02-29", "1850-01-01", "2013-1-1", "20130101", "0000-01-01"])
_LOG_TIMES = st.sampled_from(
    [
        *("10/Oct/2000:13:55:36 -0700", "10/Oct/2000:13:55:36 Z", "31/Feb/2000:13:55:36 +0000"),
        *("10/oct/2000:13:55:36 -0700", "1/Oct/2000:13:55:36 +0000", "10/Oct/1800:13:55:36 +0000"),
        *("10/Oct/2000:24:00:00 +0000", "10/Oct/2000:13:55:36  +0000", "10/Oct/2000:13:55:36 +0160"),
    ]
)
_NUMBERS = st.sampled_from(
    [
        *("0", "-0", "7", "-1", "12.5", "12.50", "12.345", "1e2", "1E-2", "-0.0", "0.00", "99999.99", "100000.00"),
        *("2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808"),
        *("1e400", "1e999999999", "1e-999999999", "0e99", "1357034400", "-1e-400", "123456789012345678901234567890"),
    ]
)


@dataclass(frozen=True)
class RawToken:
    """Text that is written into a document as it is."""

    text: str


@dataclass(frozen=True)
class Members:
    """An object by its keys and values, of which some keys may be there twice."""

    pairs: tuple[tuple[str, Any], ...]


def declarations() -> st.SearchStrategy[dict[str, Any]]:
    """The fields of a value: scalars, objects, arrays and maps in each other, some of them read by paths."""
    flat = st.sampled_from(
        [
            *({"type": "string"}, {"type": "string", "one_of": ["a", "b"]}, {"type": "boolean"}),
            *(
                {"type": "long"},
                {"type": "integer", "minimum": 0},
                {"type": "double"},
                {"type": "double", "minimum": 0},
            ),
            *({"type": "decimal", "precision": 7, "scale": 2}, {"type": "decimal", "precision": 38, "scale": 0}),
            *({"type": "date"}, {"type": "binary"}, {"type": "timestamp"}, {"type": "timestamp", "epoch": "seconds"}),
            {"type": "timestamp", "format": LOG_FORM},
        ]
    )
    needed = st.builds(lambda said, required: {**said, "required": required}, flat, st.booleans())
    nested = st.recursive(needed, _around, max_leaves=5)
    fields = st.dictionaries(st.sampled_from(KEYS), nested, min_size=1, max_size=4)
    by_path = st.dictionaries(
        st.sampled_from(["p1", "p2", "p3"]),
        st.builds(lambda said, path: {**said, "path": path}, needed, st.sampled_from(PATHS)),
        max_size=3,
    )
    return st.builds(lambda own, paths: {"at": AT, **own, **paths}, fields, by_path)


def _around(part: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    required = st.booleans()
    fields = st.dictionaries(st.sampled_from(KEYS), part, min_size=1, max_size=3)
    return st.one_of(
        st.builds(lambda said, needed: {"type": "object", "fields": said, "required": needed}, fields, required),
        st.builds(lambda said, needed: {"type": "array", "items": said, "required": needed}, part, required),
        st.builds(lambda said, needed: {"type": "map", "values": said, "required": needed}, part, required),
    )


def anything() -> st.SearchStrategy[Any]:
    """Any JSON value."""
    leaves = st.one_of(st.none(), st.booleans(), _NUMBERS.map(RawToken), _TEXTS, _TIMES)
    return st.recursive(
        leaves,
        lambda part: st.lists(part, max_size=2) | st.dictionaries(st.sampled_from("abA"), part, max_size=2),
        max_leaves=4,
    )


def values_of(said: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values of a declared field: mostly of its type, sometimes anything."""
    kind = said["type"]
    fitting: st.SearchStrategy[Any]
    if kind == "object":
        fitting = objects_of(said["fields"])
    elif kind == "array":
        fitting = st.lists(values_of(said["items"]), max_size=3)
    elif kind == "map":
        fitting = st.dictionaries(st.sampled_from(["x", "y", "X", ""]), values_of(said["values"]), max_size=3)
    elif kind == "timestamp":
        fitting = _NUMBERS.map(RawToken) if "epoch" in said else _LOG_TIMES if "format" in said else _TIMES
    else:
        number = _NUMBERS.map(RawToken)
        fitting = {"boolean": st.booleans(), "date": _DATES, "string": _TEXTS, "binary": _TEXTS}.get(kind, number)
    return st.integers(0, 19).flatmap(lambda dice: anything() if dice == 0 else st.none() if dice == 1 else fitting)


def objects_of(fields: dict[str, Any]) -> st.SearchStrategy[Members]:
    """Objects with declared fields by their keys, in any order, sometimes with others, twice, or in another case."""
    own = st.fixed_dictionaries({}, optional={name: values_of(said) for name, said in fields.items()})
    odd = st.lists(st.tuples(st.sampled_from([*KEYS, "A", "Inner_id", "extra"]), anything()), max_size=1)
    more = st.integers(0, 9).flatmap(lambda dice: odd if dice == 0 else st.just([]))
    return st.builds(lambda found, others: Members((*found.items(), *others)), own, more)


@st.composite
def records(draw: st.DrawFn, fields: dict[str, Any]) -> bytes:
    """One record: an object with what the paths lead to, now and then cut or written over."""
    flat = {name: said for name, said in fields.items() if "path" not in said}
    top = list(draw(objects_of(flat)).pairs)
    box = {name: values_of(said) for name, said in fields.items() if "path" in said and name != "at"}
    found = {fields[name]["path"]: draw(part) for name, part in box.items()}
    inner = {
        "a": found.get("$.box.a"),
        "B c": {"d": found.get("$.box['B c'].d")},
        "User": {"id": found.get("$.box.User.id")},
    }
    meta = {"at": draw(st.sampled_from(["2013-01-01T10:00:00Z"] * 6 + [*INSTANTS])), "x": found.get("$.meta.x")}
    top += [("meta", meta), ("Odd Key", found.get("$['Odd Key']"))]
    top.append(("box", draw(st.integers(0, 9).flatmap(lambda dice: anything() if dice == 0 else st.just(inner)))))
    text = written(Members(tuple(draw(st.permutations(top))))).encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 9)) == 0:
        cut = draw(st.integers(0, len(text)))
        text = (
            text[:cut]
            + draw(st.sampled_from([b"", b"{", b'"', b"\xff", b",", b"NaN"]))
            + text[cut + draw(st.integers(0, 2)) :]
        )
    return text


def written(value: Any) -> str:  # noqa: ANN401  JSON is any
    """Return a value as JSON."""
    match value:
        case RawToken(text):
            return text
        case Members(pairs):
            return "{" + ", ".join(f"{json.dumps(key)}: {written(part)}" for key, part in pairs) + "}"
        case dict():
            return written(Members(tuple(value.items())))
        case list():
            return "[" + ",".join(map(written, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)
