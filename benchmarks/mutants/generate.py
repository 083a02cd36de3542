"""Prints what mutmut would change in modules; runs in an environment of its own, which has mutmut and not Sluice.

Usage: python generate.py list FOLDER FILE ...
       python generate.py write FOLDER TARGET FILE:NUMBER ...

`list` prints one JSON object per mutant, in the order of the text: file, number, function, change.
`write` writes the source of each file with that mutant in it as 0.py, 1.py, ... into another folder.

Texts for people (strings with a space in them) are left alone: no test should ask for each word of a sentence.
"""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper
from mutmut.mutation.file_mutation import Mutation, MutationVisitor, deep_replace
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode


def main(arguments: list[str]) -> int:
    """Print all mutants, or write some."""
    act, folder, *rest = arguments
    if act == "write":
        _write(Path(folder), Path(rest[0]), rest[1:])
        return 0
    for file in rest:
        for line in _listed(file, (Path(folder) / file).read_text(encoding="utf-8")):
            print(json.dumps(line))
    return 0


def _write(folder: Path, target: Path, keys: list[str]) -> None:
    read: dict[str, tuple[cst.Module, list[Mutation]]] = {}
    for index, key in enumerate(keys):
        file, _, number = key.rpartition(":")
        if file not in read:
            read[file] = _mutations((folder / file).read_text(encoding="utf-8"))
        module, mutations = read[file]
        mutation = mutations[int(number)]
        mutant = deep_replace(module, mutation.original_node, mutation.mutated_node)
        (target / f"{index}.py").write_text(mutant.code, encoding="utf-8")


def _mutations(source: str) -> tuple[cst.Module, list[Mutation]]:
    visitor = MutationVisitor(mutation_operators, IgnoredCode(set(), set(), set()))
    module = MetadataWrapper(cst.parse_module(source)).visit(visitor)
    return module, [mutation for mutation in visitor.mutations if _is_code(mutation)]


def _is_code(mutation: Mutation) -> bool:
    """Return whether a function is changed, and nothing that people read."""
    node = mutation.original_node
    words = isinstance(node, cst.SimpleString) and " " in node.value
    return isinstance(mutation.contained_by_top_level_function, cst.FunctionDef) and not words


def _listed(file: str, source: str) -> Iterator[dict[str, Any]]:
    module, mutations = _mutations(source)
    names = _names(module)
    for number, mutation in enumerate(mutations):
        function = mutation.contained_by_top_level_function
        before = module.code_for_node(function)
        after = module.code_for_node(deep_replace(function, mutation.original_node, mutation.mutated_node))
        yield {"file": file, "number": number, "function": names[id(function)], "change": _change(before, after)}


def _names(module: cst.Module) -> dict[int, str]:
    """Return the functions' names, with their classes'."""
    names = {id(node): node.name.value for node in module.body if isinstance(node, cst.FunctionDef)}
    for node in module.body:
        if isinstance(node, cst.ClassDef):
            methods = [method for method in node.body.body if isinstance(method, cst.FunctionDef)]
            names |= {id(method): f"{node.name.value}.{method.name.value}" for method in methods}
    return names


def _change(before: str, after: str) -> str:
    """Return the lines that go and the lines that come, without their indentation."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    shown = [line for line in lines if line[:3] not in {"---", "+++"} and line[:2] != "@@"]
    return "\n".join(f"{line[0]} {line[1:].strip()}" for line in shown)


sys.exit(main(sys.argv[1:]))
