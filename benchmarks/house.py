"""How large and how tangled the house is: counts of modules, folders, imports that point up, names, and words."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sluice.settings import settings
from tests.unit.test_architecture import FLOOR, PACKAGE, PACKAGE_MODULES, python_files, room_of, rooms, syntax

_BANNED = re.compile(
    r"\b(told of|tells? of|whoever|anew|bears? out|as ever|of before|by our own clock|comes to read|to who)\b",
    re.IGNORECASE,
)


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures, and where the words are that documentation should not use.

    Args:
        size: all the same; nothing is measured by the clock.
    """
    _ = size
    home = settings().home
    modules = [path for path in PACKAGE_MODULES if path.name != "__init__.py"]
    names: dict[str, int] = Counter(_class_names(modules))
    words = _banned_words(home)
    figures = {
        "loose_modules": len([path for path in modules if path.parent == PACKAGE]),
        "files_per_folder_max": max(Counter(path.parent for path in PACKAGE_MODULES).values()),
        "circles": _circles(modules),
        "arrows_up": sum(FLOOR[room] >= FLOOR[room_of(path)] for path in modules for room in rooms(path)),
        "class_names_twice": sum(count > 1 for count in names.values()),
        "function_max": max(length for path in python_files("include/sluice") for length in _lengths(path)),
        "module_max": max(len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE_MODULES),
        "source_lines": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE_MODULES),
        "banned_words": sum(words.values()),
        "readme_words": len((home / "README.md").read_text(encoding="utf-8").split()),
    }
    return figures, {"banned": dict(words.most_common())}


def _class_names(modules: list[Path]) -> Iterator[str]:
    for path in modules:
        yield from (node.name for node in syntax(path).body if isinstance(node, ast.ClassDef) and node.name[0] != "_")


def _lengths(path: Path) -> Iterator[int]:
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or 0) - node.lineno + 1


def _circles(modules: list[Path]) -> int:
    """Return how many rooms can be reached from themselves."""
    arrows: dict[str, set[str]] = defaultdict(set)
    for path in modules:
        arrows[room_of(path)] |= rooms(path)

    def reached(room: str) -> set[str]:
        seen: set[str] = set()
        waiting = list(arrows[room])
        while waiting:
            if (next_room := waiting.pop()) not in seen:
                seen.add(next_room)
                waiting.extend(arrows[next_room])
        return seen

    return sum(room in reached(room) for room in list(arrows))


def _banned_words(home: Path) -> Counter[str]:
    pages = [home / "README.md", *sorted((home / "docs").rglob("*.md"))]
    found = {page: len(_BANNED.findall(page.read_text(encoding="utf-8"))) for page in pages}
    return Counter({page.relative_to(home).as_posix(): count for page, count in found.items() if count})
