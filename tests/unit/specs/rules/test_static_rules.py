"""What is wrong with a static input is refused at its key and line."""

from __future__ import annotations

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyarrow import parquet

from sluice.specs.catalog.variables import variables_of_batch, variables_of_unit
from sluice.specs.code.identity import pipeline_hash
from tests.unit.specs.bench import PIPELINE_FILE, Bench
from tests.unit.specs.case import Case, assert_one_fault, words

PATH = "    path: static/shops.csv\n"
BOTH = f"{PATH}    columns: {{shop: string, city: string}}\n"
COLUMNS = "    columns: {shop: string, city: string}\n"
JDBC = "    connection: shops\n    table: shops\n    reload: 1 min\n"


@pytest.mark.parametrize(
    "case",
    [
        (PATH, f"{PATH}    format: xml\n", 7, "static.shops.format", "it must be 'csv', 'json_lines', 'parquet'"),
        (
            PATH,
            "    format: jdbc\n    table: shops\n    reload: 1 min\n",
            5,
            "static.shops",
            "needs a `connection`",
        ),
        (PATH, f"{PATH}    table: sales\n    reload: 1 min\n", 6, "static.shops.path", "`path` and `table` are both"),
        (PATH, f"{PATH}    format: csv\n    table: sales\n", 8, "static.shops.table", "only `delta` and `jdbc` have a"),
        (PATH, f"{PATH}    format: csv\n    connection: a\n", 8, "static.shops.connection", "only `format: jdbc` has"),
        (PATH, f"{PATH}    query: SELECT 1\n", 7, "static.shops.query", "a query needs a `connection`"),
        (PATH, f"{JDBC}    query: SELECT 1\n", 9, "static.shops.query", "`table` and `query` are both given"),
        (PATH, f"{PATH}    connection: shops\n", 6, "static.shops.path", "a database has no path"),
        (PATH, "    connection: shops\n", 5, "static.shops", "say `table` or `query`"),
        (PATH, "", 5, "static.shops", "say where it is: `path`, `table`"),
        (PATH, "    table: sales\n", 5, "static.shops", "say how often it is read"),
        (PATH, f"{PATH}    reload: 0 s\n", 7, "static.shops.reload", "write `1 s` or more"),
        (COLUMNS, "", 5, "static.shops", "`columns` needs at least one entry"),
        (COLUMNS, f"{COLUMNS}    format: bytes\n", 7, "static.shops.columns", "remove these"),
        (PATH, "    table: stores\n    reload: 1 min\n", 6, "static.shops.table", "the project has no table 'stores'"),
        (PATH, "    path: static\n    format: delta\n", 6, "static.shops.path", "is no Delta table"),
        (PATH, "    path: gone\n    format: parquet\n", 6, "static.shops.path", "no file or folder 'gone'"),
        (PATH, "    path: static\n", 6, "static.shops.path", "no file 'static'"),
        (PATH, "    path: a.parquet\n", 7, "static.shops.columns.city", "has the column 'city' as int64"),
        (PATH, "    path: bad.parquet\n", 6, "static.shops.path", "cannot be read as Parquet"),
        (PATH, "    path: a.jsonl\n", 6, "static.shops.path", "a.jsonl:2: 'city' is 7, and string is declared"),
    ],
    ids=words,
)
def test_a_static_input_that_cannot_be_read_is_refused(bench: Bench, case: Case) -> None:
    bench.write("include/a.jsonl", '{"shop": "north"}\n{"city": 7}\n')
    bench.write("include/bad.parquet", "no parquet")
    parquet.write_table(pa.table({"shop": ["north"], "city": [7]}), bench.include / "a.parquet")
    assert_one_fault(bench, PIPELINE_FILE, case)


@pytest.mark.parametrize(
    "declared",
    [
        JDBC + COLUMNS,
        f"    connection: shops\n    query: SELECT 1\n    reload: 1 h\n{COLUMNS}",
        f"    table: sales\n    reload: 1 s\n{COLUMNS}",
        f"    table: orders_raw\n    reload: 1 s\n{COLUMNS}",
        f"    path: delta\n    format: delta\n{COLUMNS}",
        "    path: static/shops.csv\n    format: bytes\n",
        f"{PATH}    reload: 10 min\n{COLUMNS}",
    ],
)
def test_every_form_of_a_static_input_can_be_declared(bench: Bench, declared: str) -> None:
    (bench.include / "delta").mkdir()
    write_deltalake(str(bench.include / "delta"), pa.table({"shop": ["north"], "city": ["Oslo"]}))
    bench.edit(PIPELINE_FILE, BOTH, declared)
    assert bench.scan().faults == ()


def named(bench: Bench) -> str:
    catalog = bench.scan().catalog
    return pipeline_hash(bench.home, catalog.pipelines["sales"], {"orders": catalog.topics["orders"]})


def test_the_content_of_an_input_that_is_read_again_is_no_part_of_the_code(bench: Bench) -> None:
    fixed = named(bench)
    bench.write("include/static/shops.csv", "shop,city\nnorth,Bergen\n")
    assert named(bench) != fixed
    bench.edit(PIPELINE_FILE, PATH, f"{PATH}    reload: 10 min\n")
    reloaded = named(bench)
    bench.write("include/static/shops.csv", "shop,city\nnorth,Oslo\n")
    assert named(bench) == reloaded != fixed
    bench.edit(PIPELINE_FILE, "10 min", "20 min")
    assert named(bench) == reloaded


def test_every_file_of_a_folder_is_part_of_the_code(bench: Bench) -> None:
    bench.edit(PIPELINE_FILE, PATH, "    path: shops\n    format: parquet\n")
    bench.write("include/shops/.keep", "")
    parquet.write_table(pa.table({"shop": ["north"], "city": ["Oslo"]}), bench.include / "shops" / "1.parquet")
    before = named(bench)
    parquet.write_table(pa.table({"shop": ["south"], "city": ["Rome"]}), bench.include / "shops" / "2.parquet")
    assert named(bench) != before


def test_streams_and_batches_get_the_connection(bench: Bench) -> None:
    bench.edit(PIPELINE_FILE, PATH, JDBC)
    catalog = bench.scan().catalog
    deployment = catalog.deployments["prod"]
    batch = variables_of_batch(catalog, deployment, catalog.pipelines["sales"])
    for variables in (batch, variables_of_unit(catalog, deployment, catalog.units()["shop"])):
        assert "SLUICE_CONNECTION_SHOPS" in variables.secrets
