"""Python modules as text: parsed and followed along their imports, never executed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from sluice.specs.reading.faults import Fault, SpecFaults

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Where a statement holds others; a handler of exceptions and a case of a match hold them, too."""


def parse_module(path: Path, file: str = "") -> ast.Module:
    """Return a module's syntax tree.

    Args:
        path: the module.
        file: the name that a fault shows; omitted: the path as given.

    Raises:
        SpecFaults: it cannot be read, or is not Python.
    """
    try:
        stat = path.stat()
        return _parsed(path, stat.st_mtime_ns, stat.st_size)
    except SyntaxError as error:
        message = f"is not Python: {error.msg}."
        raise SpecFaults([Fault(file or path.as_posix(), error.lineno or 1, "", message)]) from error
    except (OSError, ValueError, RecursionError) as error:
        raise SpecFaults([Fault(file or path.as_posix(), 1, "", f"cannot be read as Python: {error}.")]) from error


@lru_cache(maxsize=1024)
def _parsed(path: Path, _modified_ns: int, _size: int) -> ast.Module:
    """Parse once per content, as far as a file system tells: many specs share modules."""
    return ast.parse(path.read_bytes())


class Modules:
    """The modules below some folders, each looked for once: make a new one to see a change of files.

    Args:
        roots: a root is a folder of modules, or one package: then its neighbours are outside.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = roots
        self._known: dict[tuple[str, ...], tuple[Path, ...]] = {}

    def imported_by(self, path: Path) -> Iterator[Path]:
        """Yield the files that importing one module executes: its packages and what it imports.

        Imports inside functions and under TYPE_CHECKING count; a module outside the roots does not.
        """
        package = _package(path, self._roots)
        yield from self._files(package)
        for level, name in _imports(parse_module(path)):
            if level <= len(package):
                above = package[: len(package) - level + 1] if level else ()
                yield from self._files((*above, *name))

    def _files(self, name: tuple[str, ...]) -> tuple[Path, ...]:
        """Return the files of `a`, `a.b` and `a.b.c` in the first root that has `a`; the last part may be no module."""
        if name not in self._known:
            self._known[name] = next((files for root in self._roots if (files := tuple(_below(root, name)))), ())
        return self._known[name]


SPARK_FUNCTIONS = ("pyspark.sql.functions", "pyspark.sql.connect.functions", "pyspark.sql.functions.builtin")
"""The modules with Spark's functions of columns."""


def imported_names(tree: ast.Module, of_spark: Iterable[str]) -> dict[str, str]:
    """Return the full name of what each imported name stands for.

    Args:
        tree: the module.
        of_spark: the functions of Spark's that matter: a star import brings all of them.
    """
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                if alias.name != "*":
                    names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                elif node.module in SPARK_FUNCTIONS:
                    names.update({name: f"{node.module}.{name}" for name in of_spark})
    return names


def origin_of(node: ast.expr, names: Mapping[str, str]) -> str | None:
    """Return the full name that an expression such as `F.rand` stands for, if `names` says so."""
    if isinstance(node, ast.Attribute):
        owner = origin_of(node.value, names)
        return f"{owner}.{node.attr}" if owner else None
    return names.get(node.id) if isinstance(node, ast.Name) else None


@lru_cache(maxsize=1024)
def _imports(tree: ast.Module) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return level and full name of all that a module imports; found once, because closures share most modules."""
    imports: list[tuple[int, tuple[str, ...]]] = []
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            imports += [(0, tuple(alias.name.split("."))) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = tuple(node.module.split(".")) if node.module else ()
            imports += [(node.level, (*base, alias.name)) for alias in node.names]
    return tuple(imports)


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield all statements, those inside others too: only they import, and most of a tree is expressions."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        statement = waiting.pop()
        yield statement
        for block in _BLOCKS:
            waiting.extend(getattr(statement, block, ()))


def _package(path: Path, roots: Sequence[Path]) -> tuple[str, ...]:
    """Return the name of the package that a module, or a package's `__init__`, is in."""
    root = next((root for root in roots if path.is_relative_to(root)), path.parent)
    return path.parent.relative_to(root.parent if _is_package(root) else root).parts


def _below(root: Path, name: tuple[str, ...]) -> Iterator[Path]:
    folder = root.parent if _is_package(root) else root
    if folder == root or name[:1] == (root.name,):
        for length in range(1, len(name) + 1):
            if (path := _module(folder.joinpath(*name[:length]))) is not None:
                yield path


@lru_cache(maxsize=64)
def _is_package(root: Path) -> bool:
    return (root / "__init__.py").is_file()


def _module(path: Path) -> Path | None:
    for candidate in (path / "__init__.py", path.with_name(f"{path.name}.py")):
        if candidate.is_file():
            return candidate
    return None
