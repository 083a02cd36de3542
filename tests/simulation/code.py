"""The code under test: the real modules, or copies of them in which one place was changed on purpose.

A copy is compiled from the real source under another name, with the other copies in place of what it imports, so that a
mutant touches nothing but its own world. What only carries values (records, reports, errors) is shared with the real
code.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

MODULES = (
    "sluice.streams.life.claim",
    "sluice.streams.life.governor",
    "sluice.streams.life.ending",
    "sluice.streams.life.status",
    "sluice.streams.life.claimed",
    "sluice.streams.life.life",
    "sluice.streams.life.reconcile",
    "sluice.streams.life.watch",
    "sluice.airflow.streams.watcher",
    "sluice.airflow.streams.stream_request",
    "sluice.airflow.streams.reconciliation",
    "tests.simulation.table",
)
"""What is simulated, in the order of import."""

_numbers = count(1)


@dataclass(frozen=True)
class Mutant:
    """One deliberate fault.

    Attributes:
        name: what is wrong, as a clause.
        module: in which module.
        old: the text that is replaced; it occurs once.
        new: what stands there instead.
        seed: of a history that caught it when this was written; tried first, because finding one takes its time.
    """

    name: str
    module: str
    old: str
    new: str
    seed: int = 0


class Code:
    """The modules of one simulation, by their last names."""

    def __init__(self, modules: Mapping[str, ModuleType]) -> None:
        self.__dict__.update(modules)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a module, maybe a copy
        raise AttributeError(name)


def real(names: Sequence[str] = MODULES) -> Code:
    """Return the real code."""
    return Code({_last(name): importlib.import_module(name) for name in names})


@contextmanager
def mutated(mutant: Mutant, simulated: Sequence[str] = MODULES) -> Iterator[Code]:
    """Give a copy of the code with a mutant in it.

    Args:
        mutant: the fault.
        simulated: the modules, in the order of import.

    Raises:
        ValueError: the mutant's text is not there, or more than once: the code has changed, and so must the mutant.
    """
    if mutant.module not in simulated:
        with _put_into_the_real_classes(mutant):
            yield real(simulated)
        return
    names = {name: f"mutant_{next(_numbers)}_{_last(name)}" for name in simulated}
    modules: dict[str, ModuleType] = {}
    try:
        for name, alias in names.items():
            source = _mutant_source(mutant) if name == mutant.module else _source(name)
            for imported, other in names.items():
                source = source.replace(f"from {imported} import", f"from {other} import")
            modules[_last(name)] = _compiled(source, alias)
        yield Code(modules)
    finally:
        for alias in names.values():
            sys.modules.pop(alias, None)


@contextmanager
def _put_into_the_real_classes(mutant: Mutant) -> Iterator[None]:
    """Give the methods of a mutant to the classes of its module: those of values, of which no copy would be equal."""
    module = importlib.import_module(mutant.module)
    alias = f"mutant_{next(_numbers)}_{_last(mutant.module)}"
    changed: list[tuple[type, str, object]] = []
    try:
        copy = _compiled(_mutant_source(mutant), alias)
        classes = {name: own for name, own in vars(module).items() if isinstance(own, type)}
        for name, own in classes.items():
            methods = {key: value for key, value in vars(getattr(copy, name)).items() if not key.startswith("__")}
            for key, value in methods.items():
                if callable(value) or isinstance(value, property | classmethod):
                    changed.append((own, key, vars(own)[key]))
                    setattr(own, key, value)
        vars(copy).update(classes)  # what the methods make is of the real classes
        yield
    finally:
        for own, key, value in reversed(changed):
            setattr(own, key, value)
        sys.modules.pop(alias, None)


def _mutant_source(mutant: Mutant) -> str:
    source = _source(mutant.module)
    if source.count(mutant.old) != 1:
        raise ValueError(f"{mutant.name}: {mutant.module} has {source.count(mutant.old)} places like {mutant.old!r}")
    return source.replace(mutant.old, mutant.new)


def _compiled(source: str, alias: str) -> ModuleType:
    module = ModuleType(alias)
    sys.modules[alias] = module  # dataclasses look their module up
    exec(compile(source, alias, "exec"), module.__dict__)  # noqa: S102 - our own source
    return module


def _source(name: str) -> str:
    file = importlib.import_module(name).__file__
    assert file is not None
    return Path(file).read_text(encoding="utf-8")


def _last(name: str) -> str:
    return name.rpartition(".")[2]
