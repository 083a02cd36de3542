"""Static inputs are read in every format, and what does not fit is refused in words, with its line."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from deltalake import write_deltalake
from pyarrow import parquet

from sluice.errors import NotReadyError, RefusedError, SluiceError, SpecError
from sluice.specs.model.sources import StaticInput
from sluice.static.database import database_table
from sluice.static.places import StaticPlaces
from sluice.static.reading import content_of, read_static_input

COLUMNS = {"shop": "string", "size": "long", "rent": "double", "open": "boolean", "since": "timestamp"}
SINCE = datetime(2020, 1, 1, tzinfo=UTC)
ROWS = [
    {"shop": "north", "size": 3, "rent": 1.5, "open": True, "since": SINCE},
    {"shop": "south", "size": None, "rent": None, "open": None, "since": None},
]
TABLE = pa.Table.from_pylist(
    [{**row, "more": "left out"} for row in ROWS],
    schema=pa.schema(
        [
            ("more", pa.string()),
            ("shop", pa.large_string()),
            ("size", pa.int32()),
            ("rent", pa.float32()),
            ("open", pa.bool_()),
            ("since", pa.timestamp("ms", tz="Europe/Oslo")),
        ]
    ),
)


def static(**declared: Any) -> StaticInput:  # noqa: ANN401 - values of YAML
    return StaticInput.model_validate({"columns": COLUMNS, **declared})


def read(include: Path, **declared: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - the same
    places = StaticPlaces(include, lambda name: include / "tables" / name, lambda _: f"sqlite:///{include}/db")
    rows: list[dict[str, Any]] = read_static_input(static(**declared), places).to_pylist()
    return rows


def digest(include: Path, **declared: Any) -> str:  # noqa: ANN401 - the same
    places = StaticPlaces(include, lambda name: include / "tables" / name, lambda _: f"sqlite:///{include}/db")
    return content_of(static(**declared), places).digest


CSV = b"shop,size,rent,open,since,more\nnorth,3,1.5,true,2020-01-01T00:00:00Z,x\nsouth,,,,,x\n"
LINES = (
    b'{"shop": "north", "size": 3, "rent": 1.5, "open": true, "since": "2020-01-01T01:00:00+01:00", "more": []}\n'
    b'\n{"shop": "south", "rent": null}\n'
)


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.csv", CSV), ("a.csv.gz", gzip.compress(CSV)), ("a.jsonl", LINES), ("a.ndjson.gz", gzip.compress(LINES))],
    ids=["csv", "csv.gz", "jsonl", "ndjson.gz"],  # what is compressed holds the time
)
def test_lines_are_read_by_the_ending_of_their_file(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert read(tmp_path, path=name) == ROWS


def test_parquet_may_be_a_file_or_a_folder(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    parquet.write_table(TABLE, tmp_path / "a.parquet")
    parquet.write_table(TABLE.slice(0, 1), tmp_path / "folder" / "1.parquet")
    parquet.write_table(TABLE.slice(1), tmp_path / "folder" / "2.parquet")
    assert read(tmp_path, path="a.parquet") == ROWS
    assert read(tmp_path, path="folder", format="parquet") == ROWS


def test_a_delta_table_may_be_in_include_or_of_the_project(tmp_path: Path) -> None:
    for folder in ("shops", "tables/shops"):
        (tmp_path / folder).mkdir(parents=True)
        write_deltalake(str(tmp_path / folder), TABLE)
    assert read(tmp_path, path="shops", format="delta") == ROWS
    assert read(tmp_path, table="shops", reload="10 min") == ROWS
    with pytest.raises(NotReadyError, match="there is no table"):
        read(tmp_path, table="stores", reload="10 min")


def test_bytes_are_one_row(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"\0\1")
    assert read(tmp_path, path="model.bin", format="bytes", columns={}) == [{"path": "model.bin", "content": b"\0\1"}]


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.csv", b"shop,size\nnorth,3\nsouth,3\neast,many\nwest,1\n", "a.csv:4: .*many"),
        ("a.csv", b"shop,size\nnorth,3\nsouth\nwest,1\n", "a.csv:3: .*Expected 2 columns, got 1"),
        ("a.csv", b"", "a.csv:1: Empty"),
        ("a.csv", b"shop\nnorth\n", "a.csv lacks a declared column: .*size"),
        ("a.jsonl", b'{"shop": "north"}\n\n{"shop": 1}\n', "a.jsonl:3: 'shop' is 1, and string is declared"),
        ("a.jsonl", b'{"size": true}\n', "a.jsonl:1: 'size' is true, and long is declared"),
        ("a.jsonl", b'{"size": 9223372036854775808}\n', "a.jsonl:1: .*long is declared"),
        ("a.jsonl", b'{"size": 1}\n[1]\n', "a.jsonl:2: .*no object"),
        ("a.jsonl", b'{"size": \n', "a.jsonl:1: it is no JSON"),
        ("a.jsonl.gz", b"no gzip", "a.jsonl.gz cannot be read"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_with_its_line(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SpecError, match=why):
        read(tmp_path, path=name, columns={"shop": "string", "size": "long"})


@pytest.mark.parametrize("text", ["yesterday", "2020-01-01T00:00:00", "0001-01-01T00:00:00+01:00"])
def test_a_time_says_an_instant(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"since": "{text}"}}\n')
    with pytest.raises(SpecError, match=r"a\.jsonl:1: 'since' is"):
        read(tmp_path, path="a.jsonl", columns={"since": "timestamp"})


def test_a_whole_number_may_be_too_large_for_a_double(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"rent": {2**1023}}}\n{{"rent": {10**400}}}\n')
    with pytest.raises(SpecError, match=r"a\.jsonl:2: 'rent' is 1000+, and double is declared"):
        read(tmp_path, path="a.jsonl", columns={"rent": "double"})


@pytest.mark.parametrize(
    ("column", "why"),
    [
        ({"city": "string"}, "a.parquet has no column 'city'"),
        ({"shop": "long"}, "has the column 'shop' as large_string; long is declared"),
        ({"naive": "timestamp"}, "which has no zone"),
        ({"huge": "long"}, "does not fit its declared columns"),
    ],
)
def test_columns_that_do_not_fit_are_refused(tmp_path: Path, column: dict[str, str], why: str) -> None:
    naive = pa.array([datetime(2020, 1, 1)] * 2, pa.timestamp("us"))  # noqa: DTZ001 - on purpose
    odd = TABLE.append_column("naive", naive).append_column("huge", pa.array([2**64 - 1] * 2, pa.uint64()))
    parquet.write_table(odd, tmp_path / "a.parquet")
    with pytest.raises(SpecError, match=why):
        read(tmp_path, path="a.parquet", columns=column)


def test_what_is_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"no parquet")
    with pytest.raises(SpecError, match="cannot be read as Parquet"):
        read(tmp_path, path="a.parquet")


SHOPS = {"connection": "shops", "columns": {"shop": "string", "size": "long", "rent": "double"}, "reload": "1 min"}


def database(folder: Path, *rows: tuple[object, ...]) -> str:
    engine = sa.create_engine(url := f"sqlite:///{folder}/db")
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE IF EXISTS shops"))
        connection.execute(sa.text("CREATE TABLE shops (shop TEXT, size, rent, more TEXT)"))
        for shop, size, rent in rows:
            connection.execute(sa.text("INSERT INTO shops VALUES (:a, :b, :c, 'x')"), {"a": shop, "b": size, "c": rent})
    engine.dispose()
    return url


NORTH, SOUTH = ("north", 3, 1), ("south", None, 2.5)


def test_a_database_is_read_by_table_or_query(tmp_path: Path) -> None:
    database(tmp_path, SOUTH, NORTH)
    wanted = [{"shop": "north", "size": 3, "rent": 1.0}, {"shop": "south", "size": None, "rent": 2.5}]
    assert read(tmp_path, table="shops", **SHOPS) == wanted
    assert read(tmp_path, query="SELECT *, ':no' AS n FROM shops WHERE size > 1", **SHOPS) == wanted[:1]


def test_the_order_of_a_databases_rows_is_no_content(tmp_path: Path) -> None:
    database(tmp_path, SOUTH, NORTH)
    before = digest(tmp_path, table="shops", **SHOPS)
    database(tmp_path, NORTH, SOUTH)
    assert digest(tmp_path, table="shops", **SHOPS) == before
    database(tmp_path, NORTH)
    assert digest(tmp_path, table="shops", **SHOPS) != before


def test_what_a_database_cannot_give_is_refused(tmp_path: Path) -> None:
    url = database(tmp_path, NORTH, SOUTH)

    def refused(error: type[SluiceError], why: str, url: str = url, most: int = 9, **changes: Any) -> None:  # noqa: ANN401
        with pytest.raises(error, match=why) as raised:
            database_table(static(**{**SHOPS, "table": "shops", **changes}), url, most)
        assert "secret" not in str(raised.value)

    refused(RefusedError, "has more than 1 rows", most=1)
    refused(RefusedError, "the database refuses: no such table", table="stores")
    too_big = {"table": None, "query": "SELECT zeroblob(2000000000) AS size", "columns": {"size": "long"}}
    refused(RefusedError, "the database refuses: string or blob too big", **too_big)
    absent = {"table": None, "query": "SELECT * FROM shops", "columns": {"city": "long"}}
    refused(SpecError, "has no column 'city'; it has shop", **absent)
    refused(SpecError, "has a str in 'shop', and long is declared", columns={"shop": "long"})
    refused(SpecError, "the connection 'shops' cannot be used: NoSuchModuleError", url="nothing://u:secret@host/d")


def test_other_columns_of_the_same_bytes_are_another_content(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(CSV)
    assert digest(tmp_path, path="a.csv") == digest(tmp_path, path="a.csv")
    assert digest(tmp_path, path="a.csv") != digest(tmp_path, path="a.csv", columns={"shop": "string"})
