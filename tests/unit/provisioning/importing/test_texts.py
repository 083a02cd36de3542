"""Texts get the narrowest type that takes each of them and loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.provisioning.importing.texts import guess_of, takes
from sluice.specs.model.model import ValueField

SECONDS = [1_767_268_800, 1_767_268_860]


@pytest.mark.parametrize(
    ("name", "texts", "declared"),
    [
        ("id", ["1", "-2", "9223372036854775807"], {"type": "long"}),
        ("id", ["9223372036854775808"], {"type": "string"}),
        ("id", ["1" * 1000], {"type": "string"}),
        ("zip", ["01067", "80331"], {"type": "string"}),
        ("zip", ["00.5", "1"], {"type": "string"}),
        ("id", ["0", "1"], {"type": "long"}),
        ("price", ["1", "2.50", "1e3", "-0.1"], {"type": "double"}),
        ("price", ["0.1000000000000000055"], {"type": "string"}),
        ("price", ["1e400"], {"type": "string"}),
        ("price", ["1.5", "NaN"], {"type": "string"}),
        ("price", ["1,5"], {"type": "string"}),
        ("price", [".5", "1."], {"type": "string"}),
        ("up", ["true", "false"], {"type": "boolean"}),
        ("up", ["True", "false"], {"type": "string"}),
        ("up", ["0", "1"], {"type": "long"}),
        ("sent_at", list(map(str, SECONDS)), {"type": "timestamp", "epoch": "seconds"}),
        ("sent_at", [f"{at}123" for at in SECONDS], {"type": "timestamp", "epoch": "milliseconds"}),
        ("serial", list(map(str, SECONDS)), {"type": "long"}),
        ("at", ["2026-01-01T12:00:00Z", "2026-01-01 12:00+01:00"], {"type": "timestamp"}),
        ("at", ["2026-01-01T12:00:00Z", "2026-01-01 12:00"], {"type": "timestamp", "zone": "UTC"}),
        ("at", ["0001-01-01T00:00:00Z"], {"type": "string"}),
        ("at", ["2026-01-01T12:00:00Z", "soon"], {"type": "string"}),
        ("on", ["2026-01-31", "2024-02-29"], {"type": "date"}),
        ("on", ["2026-02-29"], {"type": "string"}),
        ("on", ["31.01.2026"], {"type": "date", "format": "dd.MM.yyyy"}),
        ("on", ["1.2.2026"], {"type": "date", "format": "d.M.yyyy"}),
        ("at", ["10/Oct/2025:13:55:36 -0700"], {"type": "timestamp", "format": "dd/MMM/yyyy:HH:mm:ss Z"}),
        ("at", ["31.01.2026 12:00"], {"type": "timestamp", "format": "dd.MM.yyyy HH:mm", "zone": "UTC"}),
        (
            "at",
            ["01/02/2026 10:00:00", "01/13/2026 10:00:00"],
            {"type": "timestamp", "format": "MM/dd/yyyy HH:mm:ss", "zone": "UTC"},
        ),
        ("at", ["13/01/2026 10:00"], {"type": "timestamp", "format": "dd/MM/yyyy HH:mm", "zone": "UTC"}),
        ("at", ["1/13/2026 1:05 PM"], {"type": "timestamp", "format": "M/d/yyyy h:mm a", "zone": "UTC"}),
        ("at", ["13/01/2026", "01/13/2026"], {"type": "string"}),
        ("text", [""], {"type": "string"}),
        ("text", [" 1"], {"type": "string"}),
    ],
)
def test_the_narrowest_type_that_loses_nothing_is_taken(name: str, texts: list[str], declared: dict[str, str]) -> None:
    assert dict(guess_of(name, texts).declared) == declared


def test_the_day_or_the_month_first_is_not_guessed() -> None:
    texts = ["01/02/2026 10:00", "03/04/2026 11:00"]
    open_ = guess_of("at", texts)
    assert (dict(open_.declared), open_.open_order) == ({"type": "string"}, True)
    assert "dd/MM/yyyy HH:mm or as MM/dd/yyyy HH:mm" in open_.note
    assert guess_of("at", texts, day_first=True).declared["format"] == "dd/MM/yyyy HH:mm"
    assert guess_of("at", texts, day_first=False).declared["format"] == "MM/dd/yyyy HH:mm"
    assert guess_of("at", ["07/07/2026"]).open_order, "the value is the same, and its form is not known"


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["007"], "zeros in front"),
        (["9" * 30], "beyond 64 bits"),
        (["0.1000000000000000055"], "more digits than a double"),
        (["1", "2", "n/a"], "numbers in 2 of 3 values, and other text"),
        (["2026-01-01", "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"], "times in 2 of 3 values"),
        ([" 1", "2 "], "numbers with blanks around them"),
        (["1,5", "7", "1.234,50"], "a decimal comma"),
        (["TRUE", "False"], "true and false in other letters"),
        (["a", "b", "1"], ""),
        (["2026-01-01T12:00:00"], "names no zone"),
    ],
)
def test_what_was_guessed_is_said(texts: list[str], said: str) -> None:
    note = guess_of("x", texts).note
    assert said in note
    assert bool(note) is bool(said)


INSTANTS = st.datetimes(datetime(1950, 1, 1), datetime(2150, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
KINDS: dict[str, tuple[st.SearchStrategy[Any], Callable[[str], Any]]] = {
    "long": (st.integers(-(2**63), 2**63 - 1), int),
    "double": (st.floats(allow_nan=False, allow_infinity=False), float),
    "boolean": (st.booleans(), lambda text: text == "true"),
    "date": (st.dates(), date.fromisoformat),
    "timestamp": (INSTANTS, datetime.fromisoformat),
    "string": (st.text(), str),
}
RANK = ("boolean", "long", "double", "date", "timestamp", "string")


def written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, date) else str(value)


@given(st.data())
def test_values_of_a_kind_are_read_as_what_they_were(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(KINDS)))
    values, read = KINDS[kind]
    drawn = data.draw(st.lists(values, min_size=1, max_size=8))
    texts = list(map(written, drawn))
    guess = guess_of("value", texts)
    field = ValueField.model_validate(guess.declared)
    assert all(takes(field, text) for text in texts)
    if kind in ("long", "boolean", "date", "timestamp"):
        assert field.type == kind
        assert [read(text) for text in texts] == drawn
    elif kind == "double":
        assert field.type in ("double", "string")


@given(st.lists(st.one_of(*(values.map(written) for values, _ in KINDS.values())), min_size=1, max_size=6))
def test_whatever_is_mixed_the_type_takes_all_and_keeps_every_digit(texts: list[str]) -> None:
    field = ValueField.model_validate(guess_of("value", texts).declared)
    assert all(takes(field, text) for text in texts)
    if field.type == "long":
        assert [str(int(text)) for text in texts] == texts
    if field.type == "double":
        assert all(Decimal(repr(float(text))) == Decimal(text) for text in texts)


@pytest.mark.parametrize(
    ("declared", "text", "taken"),
    [
        ({"type": "integer"}, "2147483648", False),
        ({"type": "integer"}, "-2147483648", True),
        ({"type": "double"}, "Infinity", False),
        ({"type": "double"}, "٣", False),
        ({"type": "boolean"}, "1", False),
        ({"type": "timestamp", "epoch": "seconds"}, "soon", False),
        ({"type": "timestamp", "epoch": "seconds"}, "99999999999999", False),
        ({"type": "date", "format": "dd.MM.yyyy"}, "31.02.2026", False),
        ({"type": "binary"}, "AA==", False),
    ],
)
def test_a_type_takes_what_the_decoder_takes(declared: dict[str, str], text: str, taken: bool) -> None:
    assert takes(ValueField.model_validate(declared), text) is taken
