"""What a pipeline's page may show: each mistake is refused at its line, with what to do."""

from __future__ import annotations

import pytest

from sluice.specs.code.closure import meaning
from sluice.specs.model.data_alerts import Bound
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.pages import LinePanel, TablePanel
from tests.unit.specs.bench import PIPELINE_FILE, Bench
from tests.unit.specs.case import Case, assert_one_fault, words
from tests.unit.specs.model.test_outputs import SEVERAL, SINGLE

PAGE = """\
page:
  title: Sales now
  panels:
    - kind: number
      title: Orders
      output: sales_live
      value: orders
      aggregate: sum
      where: {shop: north}
    - kind: line
      title: Orders per hour
      output: sales_live
      x: hour
      y: [orders, total]
    - {kind: bars, title: Shops, output: sales_news, x: shop, y: orders}
    - {kind: top, title: Best, output: sales_news, name: shop, value: orders, change: growth}
    - {kind: table, title: All, output: sales_live, columns: [hour, shop], order: -hour}
    - {kind: positions, title: Where, output: sales_news, lon: lon, lat: lat, label: shop, state: open}
"""
PAGE_LINE = 28


@pytest.fixture
def paged(bench: Bench) -> Bench:
    """A project whose pipeline has a page."""
    bench.edit(PIPELINE_FILE, SINGLE, SEVERAL)
    bench.write(PIPELINE_FILE, (bench.home / PIPELINE_FILE).read_text() + PAGE)
    return bench


def pipeline(bench: Bench) -> PipelineSpec:
    found = bench.scan()
    assert found.faults == ()
    return found.catalog.pipelines["sales"]


def test_a_page_has_panels_of_all_kinds_and_changes_no_code(paged: Bench) -> None:
    found = pipeline(paged)
    assert found.page is not None
    assert [panel.kind for panel in found.page.panels] == ["number", "line", "bars", "top", "table", "positions"]
    topics = paged.scan().catalog.topics
    assert meaning(found, topics) == meaning(found.model_copy(update={"page": None}), topics)


@pytest.mark.parametrize(
    ("written", "bound"),
    [
        ("{shop: north}", Bound(one_of=("north",))),
        ("{shop: [north, south]}", Bound(one_of=("north", "south"))),
        ("{shop: 5}", Bound(one_of=(5,))),
        ("{shop: true}", Bound(one_of=(True,))),
        ("{shop: {one_of: [north]}}", Bound(one_of=("north",))),
        ("{shop: {above: 3, below: 4.5}}", Bound(above=3, below=4.5)),
    ],
)
def test_a_condition_is_a_value_values_or_bounds(paged: Bench, written: str, bound: Bound) -> None:
    paged.edit(PIPELINE_FILE, "{shop: north}", written)
    page = pipeline(paged).page
    assert page is not None
    assert page.panels[0].where == {"shop": bound}


def test_panels_say_which_columns_they_read_and_where() -> None:
    line = LinePanel(kind="line", title="a", output="b", x="t", y=("v", "w"))
    assert line.reads == {("x",): "t", ("y", 0): "v", ("y", 1): "w"}
    table = TablePanel(kind="table", title="a", output="b", columns=("c",), order="-d")
    assert table.reads == {("columns", 0): "c", ("order",): "d"}


@pytest.mark.parametrize(
    "case",
    [
        (
            "output: sales_live\n      value",
            "output: sales\n      value",
            5,
            "panels[0].output",
            "no `latest` or `topic`",
        ),
        ("output: sales_live\n      value", "output: sales_life\n      value", 5, "panels[0].output", "'sales_live'?"),
        ("title: Orders per hour", "title: Orders", 10, "panels[1].title", "two panels are called 'Orders'"),
        ("kind: bars", "kind: pie", 14, "panels[2]", "must be one of 'number', 'line'"),
        ("      aggregate: sum", "      aggregate: median", 7, "panels[0].aggregate", "it must be 'newest', 'sum'"),
        ("aggregate: sum", "aggregate: count", 7, "panels[0].aggregate", "remove `value`"),
        ("      value: orders\n", "", 6, "panels[0].aggregate", "`value` is missing"),
        ("value: orders\n", "value: 5\n", 6, "panels[0].value", "put it in quotes"),
        ("aggregate: sum", "newest_by: hour\n      aggregate: sum", 7, "panels[0].newest_by", "is about all rows"),
        ("{shop: north}", "{shop: {}}", 8, "panels[0].where.shop", "it says nothing"),
        ("{shop: north}", "{shop: {over: 3}}", 8, "panels[0].where.shop.over", "no such key"),
        ("y: [orders, total]", "y: [orders, total]\n      by: shop", 14, "panels[1].by", "it splits one value"),
        ("y: [orders, total]", "y: [orders, total]\n      newest: 601", 14, "panels[1].newest", "at most 600"),
        ("y: [orders, total]", "y: orders", 13, "panels[1].y", "write a list: [orders]"),
        (", y: orders", "", 14, "panels[2]", "`y` is missing"),
        ("columns: [hour, shop]", "columns: []", 16, "panels[4].columns", "at least one entry"),
        ("columns: [hour", "colums: [hour", 16, "panels[4].colums", "did you mean 'columns'?"),
        ("lon: lon, ", "", 17, "panels[5].lon", "the key is missing"),
    ],
    ids=words,
)
def test_a_wrong_panel_is_refused_at_its_line(paged: Bench, case: Case) -> None:
    old, new, line, where, said = case
    assert_one_fault(paged, PIPELINE_FILE, (old, new, PAGE_LINE + line, f"page.{where}", said))


def test_all_faults_of_a_page_are_reported_at_once(paged: Bench) -> None:
    paged.edit(PIPELINE_FILE, "output: sales_live\n      value", "output: sales\n      value")
    paged.edit(PIPELINE_FILE, "title: Orders per hour", "title: Orders")
    paged.edit(PIPELINE_FILE, "output: sales_news, x", "output: sales_new, x")
    assert [fault.where for fault in paged.scan().faults] == [
        "page.panels[0].output",
        "page.panels[1].title",
        "page.panels[2].output",
    ]


def test_a_page_needs_a_panel(paged: Bench) -> None:
    text = (paged.home / PIPELINE_FILE).read_text()
    paged.write(PIPELINE_FILE, text.partition("page:")[0] + "page: {panels: []}\n")
    (fault,) = paged.scan().faults
    assert (fault.where, "at least one entry" in str(fault)) == ("page.panels", True)


SELECT = """\
SELECT window.start AS hour, shop, count(*) AS orders, sum(id) AS total, {more}
FROM orders GROUP BY window(ordered_at, '1 hour'), shop
"""


@pytest.mark.parametrize(
    ("more", "unknown"),
    [
        ("1 AS growth, 2 AS lon, 3 AS lat, true AS open", []),
        ("1 AS growth, 2 AS lon, 3 AS lat", ["page.panels[5].state"]),
        ("1 AS growth", ["page.panels[5].lat", "page.panels[5].lon", "page.panels[5].state"]),
        ("*", []),
        ("count(id)", []),
    ],
)
def test_columns_that_a_select_does_not_make_are_refused(paged: Bench, more: str, unknown: list[str]) -> None:
    paged.edit(PIPELINE_FILE, "transform: sales:sales", "transform: sales.sql")
    paged.edit(
        PIPELINE_FILE, "static:\n  shops:\n    path: static/shops.csv\n    columns: {shop: string, city: string}\n", ""
    )
    paged.write("spark_jobs/transforms/sales.sql", SELECT.format(more=more))
    faults = [fault for fault in paged.scan().faults if fault.where.startswith("page.")]
    assert sorted(fault.where for fault in faults) == unknown
    assert all("sales.sql makes no column" in str(fault) for fault in faults)


def test_a_condition_about_an_unknown_column_is_refused(paged: Bench) -> None:
    paged.edit(PIPELINE_FILE, "{shop: north}", "{shopp: north}")
    paged.edit(PIPELINE_FILE, "transform: sales:sales", "transform: sales.sql")
    paged.write("spark_jobs/transforms/sales.sql", SELECT.format(more="1 AS growth, 2 AS lon, 3 AS lat, true AS open"))
    (fault,) = (fault for fault in paged.scan().faults if fault.where.startswith("page."))
    assert (fault.where, fault.fix) == ("page.panels[0].where.shopp", "did you mean 'shop'?")


@pytest.mark.parametrize("name", ["api", "static"])
def test_a_page_cannot_have_an_address_of_the_service(paged: Bench, name: str) -> None:
    text = (paged.home / PIPELINE_FILE).read_text().replace("name: sales\n", f"name: {name}\n", 1)
    (paged.home / PIPELINE_FILE).unlink()
    paged.write(f"include/pipelines/{name}.yaml", text)
    (fault,) = paged.scan().faults
    assert (fault.where, "rename the pipeline" in fault.fix) == ("page", True)
