"""Tables that intervals hand on: what `sluice check` says of them, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.settling.rules import SettlingRules
from sluice.specs.code.closure import meaning
from tests.unit.specs.bench import PIPELINE_FILE, TRANSFORM_FILE, Bench, sound_project
from tests.unit.specs.case import Case, assert_one_fault, words

CARRIES = """\
  carries:
    balances: {keys: [shop], columns: {shop: string, total: "decimal(18, 2)", last: timestamp}}
"""
TAKES = "*, shops: DataFrame, balances: DataFrame"


@pytest.fixture
def carrying(tmp_path: Path) -> Bench:
    project = sound_project(tmp_path / "project")
    project.edit(PIPELINE_FILE, "  interval: hour\n", f"  interval: hour\n{CARRIES}")
    project.edit(TRANSFORM_FILE, "*, shops: DataFrame", TAKES)
    return project


def said(project: Bench) -> list[str]:
    return [str(fault) for fault in project.scan().faults]


def test_a_pipeline_that_carries_a_table_is_sound_and_is_called_for_each_interval(carrying: Bench) -> None:
    assert said(carrying) == []
    pipeline = carrying.scan().catalog.pipelines["sales"]
    assert pipeline.intervals.called_per_interval
    assert SettlingRules.of(pipeline).per_interval
    assert pipeline.intervals.carries["balances"].ddl == "`shop` string, `total` decimal(18,2), `last` timestamp"


def test_the_code_counts_what_is_carried_but_not_for_how_long_it_is_kept(carrying: Bench) -> None:
    def counted() -> object:
        pipeline = carrying.scan().catalog.pipelines["sales"]
        topics = {"orders": carrying.scan().catalog.topics["orders"]}
        return meaning(pipeline, topics)["pipeline"]

    before = counted()
    carrying.edit(PIPELINE_FILE, "{keys: [shop]", "{keep: 3 days, keys: [shop]")
    assert counted() == before
    carrying.edit(PIPELINE_FILE, "last: timestamp", "last: date")
    assert counted() != before


@pytest.mark.parametrize(
    "case",
    [
        ("keys: [shop]", "keys: [city]", 17, "output.carries.balances", "the key 'city' is no column; there are shop"),
        ("keys: [shop]", "keys: [shop, shop]", 17, "output.carries.balances", "a key is in it twice"),
        ("shop: string, total", "shop: double, total", 17, "output.carries.balances", "a double, which names no row"),
        ("last: timestamp", "last: instant", 17, "output.carries.balances.columns", "'last': 'instant' is no type"),
        (
            "  carries:",
            "  lookback: 1 hour\n  carries:",
            17,
            "output.carries",
            "the state holds what is before an interval, and `lookback` would give its records twice",
        ),
        (
            "    balances:",
            "    orders:",
            17,
            "output.carries.orders",
            "a source is named 'orders', too, and the transform could not tell them apart. Fix: rename one of the two.",
        ),
        (
            "    balances:",
            "    shops:",
            17,
            "output.carries.shops",
            "a static input is named 'shops', too, and the transform could not tell them apart.",
        ),
    ],
    ids=words,
)
def test_a_mistake_is_one_fault_at_its_line(carrying: Bench, case: Case) -> None:
    if case[0] == "    balances:":
        carrying.edit(TRANSFORM_FILE, TAKES, "*, shops: DataFrame")
    assert_one_fault(carrying, PIPELINE_FILE, case)


def test_a_function_that_does_not_take_the_table_is_told_how(carrying: Bench) -> None:
    carrying.edit(TRANSFORM_FILE, TAKES, "*, shops: DataFrame")
    (fault,) = carrying.scan().faults
    assert "sales takes no keyword-only parameter 'balances', and the output carries this table." in str(fault)
    assert "write `def sales(..., *, balances)`, and return what it leaves of it" in str(fault)


def test_a_select_carries_nothing(carrying: Bench) -> None:
    carrying.edit(PIPELINE_FILE, "transform: sales:sales", "transform: sales.sql")
    carrying.write(
        "spark_jobs/transforms/sales.sql", "SELECT shop, ordered_at AS hour FROM orders JOIN shops USING (shop)"
    )
    (fault,) = carrying.scan().faults
    assert "sales.sql is one SELECT, which returns rows and no table to hand on." in str(fault)


def test_a_live_output_beside_it_needs_the_function_that_keeps_a_state_live(carrying: Bench) -> None:
    carrying.edit(PIPELINE_FILE, "output:\n  table: sales", "outputs:\n- kind: intervals\n  table: sales")
    carrying.edit(PIPELINE_FILE, "driver: shop", "- {kind: latest, table: now, keys: [shop]}\ndriver: shop")
    (fault,) = carrying.scan().faults
    assert "sales works out balances with DataFrames, which a live output cannot." in str(fault)
    assert "use `sluice.spark.keyed.in_order`" in str(fault)
    carrying.edit(TRANSFORM_FILE, '"""Count orders."""', "return in_order(orders, ...)")
    assert said(carrying) == []
