"""A transform in SQL is judged like one in Python, each fault at its line and column."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.specs.code.identity import pipeline_parts
from sluice.specs.code.select import Select
from sluice.specs.code.select_rules import undetermined_in, unknown_columns, unknown_tables, windows_in
from sluice.specs.load import load_catalog
from sluice.specs.model.model import PipelineSpec, TopicSpec
from sluice.specs.reading.faults import position
from tests.unit.specs.bench import PIPELINE, PIPELINE_FILE, Bench, sound_project

PROJECT = Path(__file__).parents[4]
QUERY_FILE = "spark_jobs/transforms/sales.sql"
SOUND = """\
-- Orders of each hour, by city.
WITH placed AS (
  SELECT window(ordered_at, '1 hour') AS hour, shop
  FROM orders
  WHERE NOT beat
)
SELECT hour.start AS hour, s.city, count(*) AS orders
FROM placed
JOIN shops AS s USING (shop)
GROUP BY hour, s.city;
"""


def project(tmp_path: Path, query: str, *declared: str, spec: str = PIPELINE) -> Bench:
    bench = sound_project(tmp_path)
    output = "\n  ".join(["window: 1 hour", *declared])
    spec = spec.replace("transform: sales:sales", "transform: sales.sql").replace("window: 1 hour", output)
    bench.write(PIPELINE_FILE, spec)
    bench.write(QUERY_FILE, query)
    return bench


def faults(tmp_path: Path, query: str, *declared: str) -> list[str]:
    return [str(fault) for fault in project(tmp_path, query, *declared).scan().faults]


def joined(columns: str, rest: str = "") -> str:
    """Return a SELECT of some columns, which begins its second line, over both inputs."""
    return f"SELECT\n{columns}\nFROM orders JOIN shops USING (shop){rest}\n"


def test_one_select_over_the_topic_and_the_static_inputs_is_sound(tmp_path: Path) -> None:
    assert faults(tmp_path, SOUND) == []


@pytest.mark.parametrize(
    ("query", "place", "words"),
    [
        ("SELECT shop\nFROM", "2:1", "is not SQL as Spark has it: expected table name, at 'FROM'."),
        ("SELECT (shop\nFROM orders", "2:1", "is not SQL as Spark has it: expecting ), at 'FROM'."),
        ("SELECT 'shop FROM orders", "1", "a quote or a comment is opened and not closed."),
        ("-- nothing yet\n", "1", "holds 0 statements, and a transform in SQL is one SELECT."),
        ("DROP TABLE orders", "1", "holds `DROP`, and a transform in SQL is one SELECT."),
        ("INSERT INTO orders SELECT 1", "1", "holds `INSERT`"),
        ("SELECT 1 FROM orders; SELECT 2 FROM shops", "1", "holds 2 statements"),
        ("VALUES (1)", "1", "holds `VALUES`"),
    ],
)
def test_what_is_not_one_select_is_refused(tmp_path: Path, query: str, place: str, words: str) -> None:
    (fault,) = faults(tmp_path, query)
    assert fault.startswith(f"{QUERY_FILE}:{place}: ")
    assert words in fault


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    bench = project(tmp_path, SOUND)
    (bench.home / QUERY_FILE).write_bytes(b"SELECT '\xff' FROM orders")
    (fault,) = bench.scan().faults
    assert "cannot be read as SQL" in fault.message


@pytest.mark.parametrize(
    ("columns", "column", "words"),
    [
        ("  now() AS at", 3, "now() is refused: it reads a clock"),
        ("  current_date AS day", 3, "current_date is refused: it reads a clock"),
        ("  id,  Current_Timestamp() AS at", 8, "current_timestamp() is refused: it reads a clock"),
        ("unix_timestamp ( ) AS at", 1, "unix_timestamp() is refused: it reads a clock"),
        ("TIMESTAMP 'today' AS at", 11, "is refused: it reads a clock"),
        ("id + rand(7) AS id", 6, "rand() is refused: it draws at random"),
        ("uuid() AS id", 1, "uuid() is refused: it draws at random"),
        ("monotonically_increasing_id() AS id", 1, "it depends on where rows happen to lie"),
        ("current_user() AS who", 1, "it reads what is neither a record nor a static input"),
        ("reflect('java.lang.System', 'nanoTime') AS at", 1, "it runs code that the code hash cannot see"),
    ],
)
def test_a_value_from_elsewhere_is_refused(tmp_path: Path, columns: str, column: int, words: str) -> None:
    (fault,) = faults(tmp_path, joined(columns))
    assert fault.startswith(f"{QUERY_FILE}:2:{column}: ")
    assert words in fault


@pytest.mark.parametrize(
    "columns",
    [
        "unix_timestamp(ordered_at) AS at",
        "'now()' AS text -- rand()",
        "id AS `current_date`",
        "/* uuid() */ id AS now, ordered_at AS rand",
        "xxhash64(id) AS id",
    ],
)
def test_words_that_call_nothing_are_let_through(tmp_path: Path, columns: str) -> None:
    assert faults(tmp_path, joined(columns)) == []


def test_rows_that_are_drawn_and_scripts_are_refused(tmp_path: Path) -> None:
    assert "TABLESAMPLE is refused" in faults(tmp_path, joined("id", " TABLESAMPLE (10 PERCENT)"))[0]
    script = "SELECT TRANSFORM(id) USING 'cat' AS (id STRING) FROM orders JOIN shops USING (shop)"
    assert "TRANSFORM ... USING is refused: it runs code" in faults(tmp_path, script)[0]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT id FROM ordrs, shops, orders", "1:16: 'ordrs' is neither a source, nor a static input"),
        ("SELECT id FROM orders, shops, prod.orders", "the table prod.orders is refused: it reads what is neither"),
        ("SELECT id FROM orders, shops, delta.`/data/x`", "the table delta./data/x is refused"),
        (
            "SELECT id, shp FROM orders, shops",
            "1:12: no table that it reads has a column 'shp'. Fix: did you mean 'shop'?",
        ),
        ("SELECT o.id, o.city FROM orders o, shops", "1:16: orders has no column 'city'."),
        ("SELECT shops.id FROM orders, shops", "1:14: shops has no column 'id'."),
    ],
)
def test_tables_and_columns_that_are_nowhere_are_refused(tmp_path: Path, query: str, words: str) -> None:
    (fault,) = faults(tmp_path, query)
    assert words in fault


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ORDERS.Id, CITY FROM Orders JOIN SHOPS USING (shop)",
        "SELECT o.* EXCEPT (beat), s.city FROM orders AS o LEFT SEMI JOIN shops AS s ON o.shop = s.shop",
        "SELECT window.end AS hour, count(1) FROM orders, shops GROUP BY window(seen_at, '1 hour')",
        "SELECT n + 1 AS m FROM orders, shops LATERAL VIEW explode(sequence(1, id)) AS n WHERE n > 2 ORDER BY m",
        "SELECT filter(array(id), each -> each > 1) AS ids FROM orders, shops",
        "SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM shops WHERE shops.shop = orders.shop)",
        "WITH orders AS (SELECT *, id AS number FROM orders JOIN shops USING (shop)) SELECT number FROM orders",
        "SELECT * FROM (SELECT city, id FROM orders, shops) PIVOT (max(id) FOR city IN ('Oslo' AS oslo))",
        "SELECT id FROM orders UNION ALL SELECT length(city) AS id FROM shops",
        "FROM orders JOIN shops USING (shop) SELECT id",
    ],
)
def test_what_spark_understands_is_let_through(tmp_path: Path, query: str) -> None:
    assert faults(tmp_path, query) == []


def test_inputs_that_it_does_not_read_are_refused_where_they_are_declared(tmp_path: Path) -> None:
    found = faults(tmp_path, "SELECT 1 AS one FROM (SELECT explode(array(1)))")
    assert [fault.split(" Fix:")[0] for fault in found] == [
        f"{PIPELINE_FILE}:2: source: {QUERY_FILE} does not read 'orders'.",
        f"{PIPELINE_FILE}:5: static.shops: {QUERY_FILE} does not read 'shops'.",
    ]


def test_a_static_input_with_the_name_of_the_topic_is_refused(tmp_path: Path) -> None:
    query = "SELECT id FROM orders"
    (fault,) = project(tmp_path, query, spec=PIPELINE.replace("  shops:", "  orders:")).scan().faults
    assert "the topic has this name, too" in str(fault)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    bench = project(tmp_path, SOUND)
    (bench.home / QUERY_FILE).unlink()
    (fault,) = bench.scan().faults
    assert f"'sales.sql' needs a file {QUERY_FILE}, which does not exist." in str(fault)


@pytest.mark.parametrize(
    ("grouping", "words"),
    [
        ("window(ordered_at, '30 minutes')", "its windows are 30 minutes long, and the spec declares 1 hour"),
        ("window(ordered_at, '1 hour', '20 minutes')", "its windows of 1 hour reach up to 40 minutes beyond the hour"),
        ("session_window(ordered_at, '5 minutes')", "session_window makes windows without fixed bounds"),
    ],
)
def test_windows_that_the_table_cannot_take_are_refused(tmp_path: Path, grouping: str, words: str) -> None:
    (fault,) = faults(tmp_path, joined("count(*) AS orders", f"\nGROUP BY {grouping}"))
    assert f"sales.sql: line 4 of {QUERY_FILE}: " in fault
    assert words in fault


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (joined("count(*) AS orders"), "`COUNT(*)` makes one group of all records"),
        (joined("id", "\nORDER BY id\nLIMIT 3"), "line 5 of"),
        (joined("id", " OFFSET 3"), "`OFFSET 3` chooses among all records"),
        ("SELECT id FROM orders UNION ALL SELECT 1 FROM shops LIMIT 1", "`LIMIT 1` chooses among all records"),
        (joined("row_number() OVER (ORDER BY id) AS place"), "compares all records that a call is given"),
        (joined("sum(id) OVER () AS total"), "compares all records that a call is given"),
        (joined("rank() OVER w AS place", " WINDOW w AS (ORDER BY id)"), "compares all records"),
        (
            "WITH some AS (SELECT * FROM orders), more AS (SELECT * FROM some)\nSELECT max(id) FROM more, shops",
            "`MAX(id)` makes one group of all records",
        ),
    ],
)
def test_what_depends_on_how_many_intervals_are_read_is_refused(tmp_path: Path, query: str, words: str) -> None:
    (fault,) = faults(tmp_path, query)
    assert words in fault
    assert faults(tmp_path, query, "scope: interval") == []


@pytest.mark.parametrize(
    "query",
    [
        joined("id, (SELECT count(*) FROM shops) AS shops"),
        joined("row_number() OVER (PARTITION BY date_trunc('HOUR', ordered_at) ORDER BY id) AS place"),
        joined("sum(id) OVER (ORDER BY ordered_at ROWS 3 PRECEDING) AS last"),
        joined("lag(id) OVER w AS before", " WINDOW w AS (PARTITION BY shop ORDER BY ordered_at)"),
    ],
)
def test_what_a_time_bounds_is_let_through(tmp_path: Path, query: str) -> None:
    assert faults(tmp_path, query) == []


@pytest.mark.parametrize("page", ["docs/specs.md", "docs/how-to/add-a-pipeline.md"])
def test_the_pages_show_what_the_rules_let_through(tmp_path: Path, page: str) -> None:
    topic = load_catalog(PROJECT / "include").topics["flights"]
    blocks = re.findall(r"```sql\n(.*?)```", (PROJECT / page).read_text(), re.DOTALL)
    (block,) = (each for each in blocks if "FROM flights" in each)  # the others read several sources
    (tmp_path / "shown.sql").write_text(block)
    select = Select.read(tmp_path / "shown.sql")
    columns = {"flights": tuple(topic.value.fields), "airlines": ("carrier", "name")}
    faults = [undetermined_in(select), unknown_tables(select, columns), unknown_columns(select, columns)]
    assert [fault for each in faults for fault in each] == []
    assert [window.length for window in windows_in(select, tmp_path)] == [timedelta(hours=1)]


def test_the_code_is_the_bytes_of_the_file(tmp_path: Path) -> None:
    def code(query: str) -> str:
        bench = project(tmp_path, query)
        catalog = bench.scan().catalog
        pipeline: PipelineSpec = catalog.pipelines["sales"]
        topic: TopicSpec = catalog.topics["orders"]
        parts = pipeline_parts(bench.home, pipeline, {topic.name: topic})
        assert QUERY_FILE in parts.modules
        return parts.hash

    assert code(SOUND) == code(SOUND)
    assert code(SOUND) != code(SOUND.replace("NOT beat", "beat"))


@given(st.text(alphabet="a\n", max_size=40), st.integers(0, 40))
def test_a_place_in_a_text_is_where_splitting_it_into_lines_finds_it(text: str, offset: int) -> None:
    offset = min(offset, len(text))
    line, column = position(text, offset)
    before = text.split("\n")[: line - 1]
    assert sum(len(each) + 1 for each in before) + column - 1 == offset
    assert column <= len(text.split("\n")[line - 1]) + 1
