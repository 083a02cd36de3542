"""The house plan holds: knowledge points one way, and every module stays small enough to be read."""

from __future__ import annotations

import ast
import gc
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
PACKAGE = HOME / "include" / "sluice"

LAYERS = (
    ("errors", "clock", "observability", "wording"),
    (
        "disk",
        "secrecy",
        "contracts",
        "intervals",
        "provisioning/placement",
        "streams/failures",
        "values",
    ),
    ("intervals/backfill", "kafka/client", "specs/model", "storage"),
    ("live", "settling", "specs/deployments", "specs/expectations"),
    ("specs/feeds",),
    ("settings", "specs/catalog"),
    ("connectivity", "failpoints", "specs/reading", "topics"),
    ("proof/generation",),
    (
        "proof",
        "provisioning/access",
        "provisioning/replicas",
        "provisioning/retention",
        "quality",
        "specs/code",
        "specs/rules/connections",
        "streams/position",
    ),
    ("tracing",),
    ("delta",),
    ("delta/raw", "simulators", "static"),
    (
        "feeds",
        "gx",
        "postgres",
        "provisioning/plans",
        "reports",
        "spark/keyed",
        "spark/records",
        "specs/rules",
        "streams/life",
    ),
    ("console/charts", "feeds/following", "launch", "spark/sinks", "specs", "streams/health"),
    (
        "alerts",
        "containers",
        "mirrors",
        "feeds/connectors",
        "provisioning/growth",
        "provisioning/importing",
        "spark/tables",
        "streams/deadlines",
    ),
    ("capacity", "objectives"),
    ("audit", "cli/scaffold", "console/metrics", "kafka", "lineage", "provisioning", "spark/settling", "streams"),
    ("control", "control/migrations/versions", "devstack/kafka"),
    ("control/migrations", "devstack/airflow"),
    ("devstack",),
    ("project",),
    (
        "airflow",
        "console/context",
        "project/capacity",
        "project/mirroring",
        "project/tracing",
        "project/upkeep",
        "proof/running",
        "spark/session",
    ),
    ("airflow/alerts", "airflow/batches", "console/html", "spark/driver"),
    ("airflow/streams", "console/pages", "proof/recording", "serve/panels", "spark/checks"),
    ("console", "interactive", "spark/backfill"),
    ("serve", "spark/jobs"),
    ("airflow/web", "cli/terminal"),
    ("airflow/topics", "cli/capacity", "cli/views", "cli/glossary", "cli/checking"),
    ("cli/upgrades",),
    ("cli/streams",),
    ("airflow/dags", "cli", "cli/topics"),
    ("cli/stack",),
)
"""All rooms (folders, and modules that lie loose), from the ground up: each may know only those in layers below it."""

LOOSE = {"errors", "clock", "wording", "disk", "settings", "failpoints"}
"""Modules in no folder."""

FOREIGN_ALLOWED = {
    "airflow": {"airflow"},
    "airflow/alerts": {"airflow", "httpx"},
    "airflow/web": {"airflow", "fastapi"},
    "cli": {"typer", "pyspark"},
    "console": {"fastapi"},
    "console/metrics": set[str](),
    "control": {"sqlalchemy", "alembic"},
    "delta": {"deltalake", "duckdb"},
    "devstack/airflow": {"httpx"},
    "feeds/connectors": {"httpx", "websockets"},
    "gx": {"great_expectations", "pyspark"},
    "interactive": {"pyspark"},
    "kafka": {"kafka"},
    "lineage": {"openlineage"},
    "postgres": {"sqlalchemy"},
    "project": {"sqlalchemy"},
    "serve": {"fastapi"},
    "static": {"sqlalchemy"},
    "storage": {"obstore"},
    "spark": {"pyspark", "py4j", "delta", "deltalake"},
}
"""Which foreign systems a room may know, and the rooms in it. What is not named here is the core, and knows none."""

FOREIGN = {
    *("airflow", "pyspark", "py4j", "delta", "deltalake", "kafka", "sqlalchemy", "alembic", "fastapi", "typer"),
    "great_expectations",
    "duckdb",
    "httpx",
    "obstore",
    "openlineage",
    "websockets",
}

MODULE_LINES, FUNCTION_LINES, DAG_LINES = 400, 40, 120
FOLDER_FILES, TEST_FOLDER_FILES = 20, 30
NAMELESS = {"utils", "util", "helpers", "helper", "common", "misc", "shared", "base"}


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (HOME / folder).rglob("*.py"))


def name(path: Path) -> str:
    return path.relative_to(HOME).as_posix()


OUR_CODE = python_files("include/sluice", "dags", "plugins", "spark_jobs", "benchmarks")
PACKAGE_MODULES = python_files("include/sluice")
FLOOR = {room: floor for floor, layer in enumerate(LAYERS) for room in layer}


@cache
def syntax(path: Path) -> ast.Module:
    # Python 3.11 cannot parse while a finalizer runs, such as py4j's of a Java that an earlier test has ended.
    gc.disable()
    try:
        return ast.parse(path.read_bytes())
    finally:
        gc.enable()


def imports(path: Path) -> Iterator[str]:
    """Yield the full name of everything a module imports, wherever in it, for types or for real."""
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = path.relative_to(PACKAGE.parent).parts[: -node.level] if node.level else ()
            yield from (".".join([*above, *filter(None, [node.module]), alias.name]) for alias in node.names)


def room_of(path: Path) -> str:
    """Return the folder of a module of the package, or its own name if it lies loose."""
    inner = path.relative_to(PACKAGE)
    return inner.parent.as_posix() if len(inner.parts) > 1 else path.stem


@cache
def known_modules() -> dict[str, str]:
    """Return the room of each module of the package by its full name."""
    return {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): room_of(path) for path in PACKAGE_MODULES}


def rooms(path: Path) -> set[str]:
    """Return the other rooms of the package that a module imports from."""
    found = set()
    for imported in imports(path):
        name = imported
        while name and name not in known_modules():
            name = name.rpartition(".")[0]
        if name:
            found.add(known_modules()[name])
    return found - {room_of(path)}


def foreign_allowed(room: str) -> set[str]:
    """Return what is allowed to the innermost room that is named."""
    while room and room not in FOREIGN_ALLOWED:
        room = room.rpartition("/")[0]
    return FOREIGN_ALLOWED.get(room, set())


def foreign(path: Path) -> set[str]:
    return {imported.partition(".")[0] for imported in imports(path)} & FOREIGN


def test_the_check_checks_real_modules() -> None:
    session = PACKAGE / "spark" / "session" / "session.py"
    assert foreign(session) == {"pyspark"}
    assert "specs/model" in rooms(session)
    assert rooms(PACKAGE / "errors.py") == set()


def test_every_room_has_its_layer() -> None:
    there = {room_of(path) for path in PACKAGE_MODULES if path.name != "__init__.py"}
    assert there == set(FLOOR)
    assert sum(len(layer) for layer in LAYERS) == len(FLOOR), "a room lies in two layers"
    assert {room for room in there if (PACKAGE / f"{room}.py").exists()} == LOOSE


def test_knowledge_points_down() -> None:
    up = {
        name(path): above
        for path in PACKAGE_MODULES
        if path.name != "__init__.py"
        and (above := {room for room in rooms(path) if FLOOR[room] >= FLOOR[room_of(path)]})
    }
    assert up == {}


def test_a_room_knows_no_foreign_system_but_its_own() -> None:
    known = {name(path): foreign(path) - foreign_allowed(room_of(path)) for path in PACKAGE_MODULES}
    assert {where: systems for where, systems in known.items() if systems} == {}


@pytest.mark.parametrize(
    ("folder", "most"),
    [("include/sluice", FOLDER_FILES), ("tests", TEST_FOLDER_FILES), ("benchmarks", TEST_FOLDER_FILES)],
)
def test_a_folder_can_be_read_at_a_glance(folder: str, most: int) -> None:
    counted = Counter(path.parent for path in python_files(folder))
    assert {name(where): count for where, count in counted.items() if count > most} == {}


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


def test_a_module_of_tests_has_one_subject() -> None:
    lines = {name(path): len(path.read_text().splitlines()) for path in python_files("tests")}
    assert {where: count for where, count in lines.items() if count > MODULE_LINES} == {}


def test_no_two_classes_have_one_name() -> None:
    places: dict[str, list[str]] = {}
    for path in PACKAGE_MODULES:
        for node in syntax(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(name(path))
    assert {found: where for found, where in places.items() if len(where) > 1} == {}


def test_every_module_is_named_after_what_it_is() -> None:
    assert [name(path) for path in OUR_CODE if path.stem in NAMELESS] == []


def test_reading_specs_imports_neither_spark_nor_kafka_nor_airflow() -> None:
    code = f"import sys, sluice.specs.load; print(sorted({FOREIGN!r} & sys.modules.keys()))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_what_is_imported_from_the_package_is_there() -> None:
    """Benchmarks and long tests are imported by nothing else, so a module that moved would be missed late."""
    files = python_files("benchmarks", "dags", "plugins", "spark_jobs", "tests")
    ours = {(name(path), each) for path in files for each in imports_from_outside(path) if each.startswith("sluice.")}
    assert {(file, imported) for file, imported in ours if not is_defined(imported)} == set()


def imports_from_outside(path: Path) -> Iterator[str]:
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_defined(imported: str) -> bool:
    """Whether a full name is a module or a package of ours, or stands at the top of one."""
    if imported in known_modules() or (PACKAGE.parent / Path(*imported.split("."))).is_dir():
        return True
    module, _, attribute = imported.rpartition(".")
    file = PACKAGE.parent / Path(*module.split("."))
    source = file.with_suffix(".py") if file.with_suffix(".py").exists() else file / "__init__.py"
    return source.exists() and attribute in top_names(source)


@cache
def top_names(path: Path) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return frozenset(names)
