"""Tables that are there already: what is added to them, and what is refused with nothing changed."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sluice.delta.table import column_changes, ensure_table, refuse_unfit
from sluice.errors import RefusedError
from sluice.intervals.backfill.trial import ColumnChanges


def schema(**columns: str) -> str:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns.items()]
    return json.dumps({"type": "struct", "fields": fields})


BEFORE = schema(day="string", number="long")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    folder = tmp_path / "sales"
    ensure_table(folder, BEFORE, partition_by=["day"])
    write_deltalake(folder, pa.table({"day": ["a"], "number": [1]}), mode="append")
    return folder


def rows(folder: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = DeltaTable(folder).to_pyarrow_table().to_pylist()
    return found


def test_a_column_is_added_once_and_is_null_in_the_rows_before(table: Path) -> None:
    more = schema(day="string", price="double", number="long")
    before = DeltaTable(table).version()
    ensure_table(table, more, partition_by=["day"])
    ensure_table(table, more, partition_by=["day"])
    assert DeltaTable(table).version() == before + 1
    write_deltalake(table, pa.table({"price": [0.5], "day": ["b"], "number": [2]}), mode="append")
    assert sorted(rows(table), key=lambda row: str(row["day"])) == [
        {"day": "a", "number": 1, "price": None},
        {"day": "b", "number": 2, "price": 0.5},
    ]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (schema(day="string", number="double"), "number is long there and double here"),
        (schema(day="string"), "number is there and not here"),
        (schema(day="string", count="long"), "number is there and not here"),
        (schema(day="string", number="string", price="double"), "number is long there and string here"),
    ],
)
def test_what_readers_would_break_on_is_refused_with_the_steps_to_a_new_table(
    table: Path, wanted: str, said: str
) -> None:
    before = DeltaTable(table).version()
    with pytest.raises(RefusedError, match=said) as refused:
        ensure_table(table, wanted, partition_by=["day"])
    assert "sales_v2" in refused.value.fix
    with pytest.raises(RefusedError, match=said):
        refuse_unfit(table, wanted, partition_by=["day"])
    assert DeltaTable(table).version() == before


def test_a_check_refuses_what_does_not_fit_and_neither_creates_nor_widens_a_table(table: Path, tmp_path: Path) -> None:
    before = DeltaTable(table).version()
    refuse_unfit(table, schema(day="string", price="double", number="long"), partition_by=["day"])
    refuse_unfit(tmp_path / "not_there", BEFORE)
    assert DeltaTable(table).version() == before
    assert not (tmp_path / "not_there").exists()
    with pytest.raises(RefusedError, match="partitioned by"):
        refuse_unfit(table, BEFORE)


def test_other_partitions_are_refused_before_anything_is_added(table: Path) -> None:
    before = DeltaTable(table).version()
    with pytest.raises(RefusedError, match="partitioned by"):
        ensure_table(table, schema(day="string", number="long", price="double"))
    assert DeltaTable(table).version() == before


def test_of_several_that_add_at_once_each_ends_with_all_columns(table: Path) -> None:
    wanted = [schema(day="string", number="long", price="double") for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda each: ensure_table(table, each, partition_by=["day"]), wanted))
    assert [field.name for field in DeltaTable(table).schema().fields] == ["day", "number", "price"]


def test_how_columns_differ_is_said_without_changing_the_table(table: Path) -> None:
    version = DeltaTable(table).version()
    wanted = schema(day="string", number="double", price="double")
    found = column_changes(table, wanted, partition_by=["day"])
    assert found == ColumnChanges(added=("price",), retyped=("number: long, now double",))
    assert column_changes(table, schema(day="string"), partition_by=["day"]).dropped == ("number",)
    assert not column_changes(table, BEFORE, partition_by=["day"])
    with pytest.raises(RefusedError, match="partitioned by"):
        column_changes(table, BEFORE, partition_by=["number"])
    assert DeltaTable(table).version() == version
