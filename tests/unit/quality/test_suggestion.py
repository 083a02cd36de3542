"""A proposed suite is sound YAML that says why, and says nothing that the profile does not show."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sluice.quality.suggestion import Column, Profile, as_yaml, proposals
from sluice.specs.expectations.model import ExpectationsSpec
from sluice.specs.model.outputs import IntervalsOutput
from tests.twins.clock import START

OUTPUT = IntervalsOutput.model_validate(
    {"table": "sales", "time_column": "hour", "window": "1 hour", "interval": "hour", "keys": ["shop"]}
)
SHOP = Column("shop", numeric=False, text=True, nulls=0, values=("north", "south"))
SOLD = Column("sold", numeric=True, text=False, nulls=2, low=0.0, high=19.0)
PROFILE = Profile(
    pipeline="sales",
    output=OUTPUT,
    first=START,
    last=START,
    intervals=24,
    rows=400,
    empty=3,
    repeated=0,
    columns=(SHOP, SOLD),
    static={"shop": "shops"},
)


def names(profile: Profile) -> list[str]:
    return [str(found["expect"]).removeprefix("expect_") for found, _ in proposals(profile)]


def test_what_has_held_is_proposed_with_its_reason() -> None:
    assert names(PROFILE) == [
        "compound_columns_to_be_unique",
        "column_values_to_not_be_null",
        "column_values_to_be_in_set",
        "column_values_to_not_be_null",
        "column_values_to_be_between",
        "column_values_to_be_in_reference",
        "interval_offsets_to_be_complete",
        "table_row_count_to_be_between",
    ]
    text = as_yaml(PROFILE)
    assert "# The declared keys name each of the 400 rows once." in text
    assert "# 2 of 400 rows lack it." in text
    assert "3 of 24 intervals had none" in text


@pytest.mark.parametrize(
    ("profile", "gone"),
    [
        (replace(PROFILE, repeated=2), "compound_columns_to_be_unique"),
        (replace(PROFILE, repeated=None), "compound_columns_to_be_unique"),
        (replace(PROFILE, columns=(replace(SHOP, values=()),)), "column_values_to_be_in_set"),
        (replace(PROFILE, columns=(replace(SOLD, low=-1.0),)), "column_values_to_be_between"),
        (replace(PROFILE, columns=(replace(SOLD, nulls=5),)), "column_values_to_not_be_null"),
        (replace(PROFILE, static={}), "column_values_to_be_in_reference"),
        (replace(PROFILE, intervals=7), "table_row_count_to_be_between"),
    ],
)
def test_what_has_not_held_or_is_not_known_is_not(profile: Profile, gone: str) -> None:
    assert gone not in names(profile)


def test_from_a_few_rows_nothing_is_proposed() -> None:
    few = replace(PROFILE, rows=49)
    assert names(few) == []
    assert "49 rows are too few" in as_yaml(few)


NAMES = st.text("abc: #'-é", min_size=1, max_size=8).map(lambda text: f"c{text}")
COLUMNS = st.builds(
    Column,
    name=NAMES,
    numeric=st.booleans(),
    text=st.booleans(),
    nulls=st.integers(0, 400),
    low=st.none() | st.floats(-10, 10),
    high=st.floats(10, 20),
    values=st.lists(st.text(max_size=5), max_size=5, unique=True).map(lambda found: tuple(sorted(found))),
)


@given(st.lists(COLUMNS, max_size=5, unique_by=lambda column: column.name))
def test_it_is_a_suite_whatever_the_columns_are_called(columns: list[Column]) -> None:
    text = as_yaml(replace(PROFILE, columns=tuple(columns)))
    suite = ExpectationsSpec.model_validate(yaml.safe_load(text))
    assert len(suite.expectations) == len(names(replace(PROFILE, columns=tuple(columns))))
