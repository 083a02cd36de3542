"""The tables of a project by name, for `sluice sql` and for notebooks."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import subprocess
import sys
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyarrow import fs

import sluice
from sluice.errors import NotReadyError, SpecError
from sluice.interactive.table import Table, tables_of
from sluice.project.project import Project
from sluice.settings import Settings
from sluice.specs.code.closure import import_closure
from tests.twins.departures_project import DeparturesProject
from tests.unit.specs.bench import PIPELINE_FILE, sound_project
from tests.unit.specs.model.test_outputs import SEVERAL, SINGLE

ROOT = Path(__file__).resolve().parents[3]
HOUR = datetime(2013, 1, 1, 5, tzinfo=UTC)
EXAMPLES = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "notebooks.md").read_text(), re.MULTILINE | re.DOTALL)
BY_DELTA_RS = {"to_pandas", "to_pyarrow_table", "to_pyarrow_dataset"}


@pytest.fixture
def departures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The table of the shipped pipeline, with one row in each of two versions."""
    folder = DeparturesProject.create(tmp_path, monkeypatch).table
    for origin, departed in (("EWR", 3), ("JFK", 4)):
        row = {"hour": pa.array([HOUR], pa.timestamp("us", "UTC")), "origin": [origin], "departed": [departed]}
        write_deltalake(str(folder), pa.table(row), partition_by=["hour"], mode="append")
    return folder


@pytest.mark.parametrize(
    ("outputs", "tables"),
    [(SINGLE, {"orders_raw", "sales"}), (SEVERAL, {"orders_raw", "sales", "sales_live"})],
    ids=["output", "outputs"],
)
def test_every_declared_table_that_is_there_can_be_asked(tmp_path: Path, outputs: str, tables: set[str]) -> None:
    bench = sound_project(tmp_path)
    if outputs != SINGLE:
        bench.edit(PIPELINE_FILE, SINGLE, outputs)
    project = Project.open_strict(Settings(home=tmp_path, state=tmp_path / "state", deployment="prod"))
    assert tables_of(project) == {}
    for name in (*tables, "of_nobody"):
        (project.folder.table(name) / "_delta_log").mkdir(parents=True)
    assert tables_of(project).keys() == tables


def test_a_table_is_one_line_away(departures: Path) -> None:
    table = sluice.table("departures")
    assert table == Table("departures", departures, 1)
    assert Path(table.uri) == departures
    frame = table.pandas()
    assert sorted(frame["origin"]) == ["EWR", "JFK"]
    assert set(frame["hour"].dt.tz_convert("UTC")) == {HOUR}
    assert table.arrow(["departed"]).column_names == ["departed"]


def test_a_table_stays_at_its_version_whatever_is_written_meanwhile(departures: Path) -> None:
    table = sluice.table("departures")
    write_deltalake(str(departures), table.arrow(), mode="append")
    assert [len(table.pandas()), len(sluice.table("departures").pandas())] == [2, 4]
    assert sluice.table("departures", version=0).arrow(["origin"]).to_pylist() == [{"origin": "EWR"}]


@pytest.mark.usefixtures("departures")
@pytest.mark.parametrize("version", [7, -1])
def test_a_version_that_is_not_there_is_refused(version: int) -> None:
    with pytest.raises(SpecError, match=f"departures has no version {version}.*the newest is 1"):
        sluice.table("departures", version=version)


@pytest.mark.usefixtures("departures")
def test_a_table_that_is_not_there_is_refused_by_what_there_is() -> None:
    with pytest.raises(SpecError, match=r"no spec declares a table 'departurse'; they declare departures, dep"):
        sluice.table("departurse")
    with pytest.raises(NotReadyError, match=r"flights_raw has no rows yet.*the unit flights"):
        sluice.table("flights_raw")


def test_importing_sluice_is_light() -> None:
    heavy = {"pyspark", "airflow", "deltalake", "pyarrow", "pandas", "duckdb", "pydantic"}
    code = f"import sys, sluice; sluice.table; print(sorted({heavy!r} & sys.modules.keys()))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_what_reads_tables_is_no_part_of_the_code_that_computes_results() -> None:
    """Else every change of it would make every interval stale."""
    package = ROOT / "include" / "sluice"
    assert import_closure(package / "__init__.py", (ROOT / "include",)) == (package / "__init__.py",)


@pytest.mark.usefixtures("departures")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.split()[1])
def test_the_examples_of_the_page_run(example: str) -> None:
    code = compile(example, "docs/notebooks.md", "exec")
    needed = {node.names[0].name for node in ast.parse(example).body if isinstance(node, ast.Import)}
    if ".spark(" in example or not all(map(find_spec, needed)):  # Spark's is run with the tests that have a session
        return
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, {})  # noqa: S102 - our own page


def test_the_page_has_an_example_for_every_reader() -> None:
    text = "".join(EXAMPLES)
    assert [
        reader for reader in (".pandas()", "duckdb.sql", "polars.scan_delta", ".spark()") if reader not in text
    ] == []


def test_no_file_is_read_by_python_in_a_thread_of_arrow(departures: Path) -> None:
    """One that is, aborts one process in ten at its exit: see `sluice.delta.reading.dataset_of`."""
    files = sluice.table("departures").dataset().filesystem
    assert isinstance(files, fs.SubTreeFileSystem)
    assert isinstance(files.base_fs, fs.LocalFileSystem)
    assert departures.is_dir()


def test_nothing_of_ours_reads_tables_by_the_file_system_of_delta_rs() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in ("include/sluice", "dags", "plugins", "spark_jobs", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in BY_DELTA_RS
        if not any(keyword.arg == "filesystem" for keyword in node.keywords) and "DeltaTable" in ast.unparse(node)
    ]
    assert found == []
