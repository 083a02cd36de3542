"""Expressions that give another value in the backfill than in the stream, found by reading the code.

A transform runs again over the same records, and parity compares the results row by row. So a value may come from the
records and the static inputs only: not from a clock, not from chance, not from where rows happen to lie, and not from
code that reading cannot find. What depends on the order of rows (`collect_list`, `first`) is not refused here, because
it is often used where order does not matter; `verify` finds it where it does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from sluice.specs.code.modules import SPARK_FUNCTIONS, imported_names, origin_of, parse_module
from sluice.specs.reading.faults import Fault


class NonDeterminism(Enum):
    """Where a value comes from that is no input of the transform: the reason, and the way out."""

    CLOCK = ("it reads a clock", "use the event time or the arrival time of the record.")
    CHANCE = ("it draws at random", "derive it from the record, for instance by xxhash64 of its key.")
    LAYOUT = ("it depends on where rows happen to lie", "derive it from the record.")
    OUTSIDE = ("it reads what is neither a record nor a static input", "declare a static input.")
    HIDDEN = ("it runs code that the code hash cannot see", "import modules by name and call functions directly.")

    def refusal(self, what: str) -> tuple[str, str]:
        """Return why an expression is refused, and what to do."""
        reason, fix = self.value
        return f"{what} is refused: {reason}, so stream and backfill would differ.", fix


_FUNCTIONS = {
    NonDeterminism.CLOCK: (
        "current_timestamp", "current_date", "current_time", "curdate", "now", "localtimestamp", "current_timezone",
    ),
    NonDeterminism.CHANCE: ("rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle"),
    NonDeterminism.LAYOUT: (
        "monotonically_increasing_id", "spark_partition_id", "input_file_name", "input_file_block_start",
        "input_file_block_length",
    ),
    NonDeterminism.HIDDEN: ("reflect", "java_method", "try_reflect"),
}  # fmt: skip
SPARK_SOURCES = {name: source for source, names in _FUNCTIONS.items() for name in names}
"""Functions of Spark's whose value is no function of their arguments."""
_METHODS = {"sample": NonDeterminism.CHANCE, "sampleBy": NonDeterminism.CHANCE, "randomSplit": NonDeterminism.CHANCE}
_NAMES = {
    NonDeterminism.CLOCK: (
        "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today",
        "pandas.Timestamp.now", "pandas.Timestamp.today", "time.gmtime", "time.localtime", "time.ctime",
        "time.strftime", "time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "time.perf_counter",
        "time.perf_counter_ns",
    ),
    NonDeterminism.CHANCE: ("random", "secrets", "numpy.random", "os.urandom", "uuid.uuid1", "uuid.uuid4"),
    NonDeterminism.OUTSIDE: (
        "os.environ", "os.getenv", "builtins.open", "builtins.input", "subprocess", "socket", "http", "urllib.request",
        "requests", "httpx", "httpx2", "sluice.table", "sluice.interactive", "deltalake", "duckdb",
        "pandas.read_csv", "pandas.read_excel", "pandas.read_feather", "pandas.read_json", "pandas.read_parquet",
        "pandas.read_pickle", "pandas.read_sql", "pandas.read_table", "numpy.genfromtxt", "numpy.load", "numpy.loadtxt",
    ),
    NonDeterminism.HIDDEN: ("importlib", "builtins.exec", "builtins.eval", "builtins.__import__"),
}  # fmt: skip
_PYTHON = {name: source for source, names in _NAMES.items() for name in names}
"""A name here refuses everything below it: `random` refuses `random.choice`."""

SOURCES_WITHOUT_ARGUMENTS = {"unix_timestamp": NonDeterminism.CLOCK}
"""Functions that read the clock only where they are given nothing."""

_BUILTINS = frozenset({"exec", "eval", "__import__", "open", "input"})
_SQL_METHODS = frozenset({"expr", "selectExpr", "where", "filter", "sql", "having"})
_SQL_CALL = re.compile(rf"\b({'|'.join([*SPARK_SOURCES, *SOURCES_WITHOUT_ARGUMENTS])})\s*\(\s*(\)?)", re.IGNORECASE)
SQL_WORDS = ("current_timestamp", "current_date", "current_time", "localtimestamp")
"""Those that SQL calls without parentheses."""
_SQL_WORD = re.compile(rf"\b({'|'.join(SQL_WORDS)})\b", re.IGNORECASE)


def undetermined(path: Path, file: str) -> Iterator[Fault]:
    """Yield a fault for every expression of a module that is no function of the transform's inputs.

    Args:
        path: the module.
        file: the name that faults show.

    Raises:
        SpecFaults: it is not Python.
    """
    tree = parse_module(path, file)
    names = _known_names(tree)
    documentation = _docstrings(tree)
    sql_arguments = _sql_arguments(tree)
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name) and id(node) not in inner:
            yield from _in_name(node, names, file)
        elif isinstance(node, ast.Call):
            yield from _in_call(node, names, file)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield from _in_text(node, node.value, file, is_sql=id(node) in sql_arguments)


def _in_name(node: ast.Attribute | ast.Name, names: dict[str, str], file: str) -> Iterator[Fault]:
    origin = origin_of(node, names)
    if origin and (source := _source_of(origin)):
        yield _fault(file, node, ast.unparse(node), source)


def _in_call(node: ast.Call, names: dict[str, str], file: str) -> Iterator[Fault]:
    function = node.func
    if isinstance(function, ast.Attribute) and origin_of(function, names) is None:
        if source := _METHODS.get(function.attr):
            yield _fault(file, node, f".{function.attr}", source)
    elif not node.args and not node.keywords:
        module, _, name = (origin_of(function, names) or "").rpartition(".")
        if module in SPARK_FUNCTIONS and (source := SOURCES_WITHOUT_ARGUMENTS.get(name)):
            yield _fault(file, node, f"{ast.unparse(function)}()", source)


def _in_text(node: ast.Constant, text: str, file: str, *, is_sql: bool) -> Iterator[Fault]:
    """Look for SQL in a string, wherever it stands: it may reach `F.expr` by a name."""
    for match in _SQL_CALL.finditer(text):
        function, empty = match[1].lower(), bool(match[2])
        if source := SPARK_SOURCES.get(function) or (SOURCES_WITHOUT_ARGUMENTS[function] if empty else None):
            yield _fault(file, node, f"{function}() in SQL", source)
    if is_sql and (word := _SQL_WORD.search(text)) and not _SQL_CALL.search(text):
        yield _fault(file, node, f"{word[1].lower()} in SQL", NonDeterminism.CLOCK)


def _fault(file: str, node: ast.expr, what: str, source: NonDeterminism) -> Fault:
    return Fault(file, node.lineno, "", *source.refusal(what))


def _source_of(origin: str) -> NonDeterminism | None:
    module, _, name = origin.rpartition(".")
    if module in SPARK_FUNCTIONS:
        return SPARK_SOURCES.get(name)
    parts = origin.split(".")
    prefixes = (".".join(parts[:length]) for length in range(1, len(parts) + 1))
    return next((_PYTHON[prefix] for prefix in prefixes if prefix in _PYTHON), None)


def _known_names(tree: ast.Module) -> dict[str, str]:
    """Return what each imported or built-in name stands for, as far as it matters here.

    `open` is no built-in where the module gives the name away.
    """
    assigned = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    parameters = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    names = {name: f"builtins.{name}" for name in _BUILTINS - assigned - parameters}
    return names | imported_names(tree, (*SPARK_SOURCES, *SOURCES_WITHOUT_ARGUMENTS))


def _docstrings(tree: ast.Module) -> set[int]:
    """Return the identities of bare strings: they are read by people, not run."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def _sql_arguments(tree: ast.Module) -> set[int]:
    """Return the identities of strings given straight to a method that reads SQL."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {
        id(part)
        for call in calls
        if (call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")) in _SQL_METHODS
        for argument in call.args
        for part in ast.walk(argument)
    }
