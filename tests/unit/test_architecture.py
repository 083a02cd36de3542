"""The house plan holds: knowledge points one way, and every module stays small enough to be read."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
PACKAGE = HOME / "include" / "sluice"

CORE = {
    "specs",
    "topics",
    "streams",
    "intervals",
    "quality",
    "feeds",
    "alerts",
    "reports",
    "metrics",
    "scaffold",
    "placement",
    "access",
    "contracts",
    "live",
    "lineage",
}
ADAPTERS = {"registry", "kafka", "control", "local", "postgres", "spark", "gx", "openlineage"}
FACES = {"airflow", "console", "serve", "cli", "references"}
FOREIGN = {
    *("airflow", "pyspark", "py4j", "delta", "deltalake", "kafka", "sqlalchemy", "alembic", "fastapi", "typer"),
    "great_expectations",
    "duckdb",
    "openlineage",
}

MODULE_LINES, FUNCTION_LINES, DAG_LINES = 400, 60, 120
NAMELESS = {"utils", "util", "helpers", "helper", "common", "misc", "shared", "base"}


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (HOME / folder).rglob("*.py"))


def name(path: Path) -> str:
    return path.relative_to(HOME).as_posix()


OUR_CODE = python_files("include/sluice", "dags", "plugins", "spark_jobs", "benchmarks")
CORE_MODULES = [path for path in python_files("include/sluice") if path.relative_to(PACKAGE).parts[0] in CORE]


@cache
def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


def imports(path: Path) -> Iterator[str]:
    """Yield the full name of everything a module imports, wherever in it, for types or for real."""
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = path.relative_to(PACKAGE.parent).parts[: -node.level] if node.level else ()
            yield from (".".join([*above, *filter(None, [node.module]), alias.name]) for alias in node.names)


def rooms(path: Path) -> set[str]:
    """Return the rooms of the package that a module imports from; `project` counts as one."""
    return {parts[1] for parts in (imported.split(".") for imported in imports(path)) if parts[0] == "sluice"}


def foreign(path: Path) -> set[str]:
    return {imported.partition(".")[0] for imported in imports(path)} & FOREIGN


def test_the_check_looks_at_real_modules() -> None:
    assert len(CORE_MODULES) > 20
    assert foreign(PACKAGE / "spark" / "session.py") == {"pyspark"}
    assert "specs" in rooms(PACKAGE / "spark" / "session.py")


@pytest.mark.parametrize("path", CORE_MODULES, ids=name)
def test_the_core_knows_no_foreign_system(path: Path) -> None:
    assert foreign(path) == set()


@pytest.mark.parametrize("path", CORE_MODULES, ids=name)
def test_the_core_knows_no_adapter_and_no_face(path: Path) -> None:
    assert rooms(path) & (ADAPTERS | FACES | {"project", "settings"}) == set()


@pytest.mark.parametrize(
    "path", [p for p in python_files("include/sluice") if p.relative_to(PACKAGE).parts[0] in ADAPTERS], ids=name
)
def test_an_adapter_knows_no_face(path: Path) -> None:
    assert rooms(path) & FACES == set()


@pytest.mark.parametrize("path", python_files("spark_jobs/transforms"), ids=name)
def test_a_transform_knows_neither_kafka_nor_airflow(path: Path) -> None:
    assert foreign(path) <= {"pyspark"}


@pytest.mark.parametrize("path", python_files("dags"), ids=name)
def test_a_dag_file_is_thin_and_imports_neither_spark_nor_kafka(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= DAG_LINES
    assert foreign(path) <= {"airflow"}


@pytest.mark.parametrize("path", OUR_CODE, ids=name)
def test_a_module_is_small_and_so_are_its_functions(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MODULE_LINES
    long = {
        node.name: (node.end_lineno or 0) - node.lineno + 1
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= FUNCTION_LINES
    }
    assert long == {}


def test_every_module_is_named_after_what_it_is() -> None:
    assert [name(path) for path in OUR_CODE if path.stem in NAMELESS] == []


def test_reading_specs_imports_neither_spark_nor_kafka_nor_airflow() -> None:
    code = f"import sys, sluice.specs.load; print(sorted({FOREIGN!r} & sys.modules.keys()))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
