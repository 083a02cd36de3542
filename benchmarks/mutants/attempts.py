"""Mutants of the core: made by mutmut, tried one at a time against the tests that cover their module."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from benchmarks.locked_environment import locked_environment, python_of
from benchmarks.mutants.core import CORE, CoreModule
from benchmarks.mutants.type_checks import TypeChecks
from benchmarks.trials import TrialError
from sluice.settings import settings

_GENERATE = Path(__file__).with_name("generate.py")
_AT_ONCE = 2
_SLOWER, _LEAST_SECONDS, _MOST_SECONDS = 4.0, 20.0, 120.0
"""A mutant has so many times the processor's seconds that its tests take without it, and at least so many."""
_WALL = 10
"""It may wait for a processor for so many times as long."""
_NO_TESTS = 5
_POLL_SECONDS = 0.05


class Noticed(StrEnum):
    """What tests made of a mutant."""

    KILLED = "killed"  # a test failed, or the module could not be imported
    TYPES = "types"  # all passed, and the type checker refuses it
    TIMEOUT = "timeout"  # the tests did not end
    SURVIVED = "survived"  # all passed, types included


@dataclass(frozen=True)
class CodeMutant:
    """One change of one function.

    Attributes:
        module: where.
        number: of the mutant among all of that module.
        function: which function, with its class.
        change: the lines that go, and the lines that come.
    """

    module: CoreModule
    number: int
    function: str
    change: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Return what it is recognised by as long as its code stays."""
        return self.module.name, self.function, self.change


def all_mutants() -> list[CodeMutant]:
    """Return every mutant of every core module, in the order of the text."""
    by_path = {module.path: module for module in CORE}
    lines = _generate("list", str(settings().home), *by_path).splitlines()
    found = [json.loads(line) for line in lines]
    return [CodeMutant(by_path[f["file"]], f["number"], f["function"], f["change"]) for f in found]


def try_all(mutants: Sequence[CodeMutant], folder: Path) -> dict[CodeMutant, Noticed]:
    """Try each mutant, two at once, and return what was made of it.

    Args:
        mutants: those to try.
        folder: an empty one, for their sources.

    Raises:
        TrialError: tests fail without a mutant, or there are none.
    """
    keys = [f"{mutant.module.path}:{mutant.number}" for mutant in mutants]
    _generate("write", str(settings().home), str(folder), *keys)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        modules = list(dict.fromkeys(mutant.module for mutant in mutants))
        limits = dict(zip(modules, pool.map(_limit, modules), strict=True))

        def attempt(index: int) -> Noticed:
            module = mutants[index].module
            noticed, _ = _attempt(module, folder / f"{index}.py", limits[module])
            print(f"{index + 1:4} {noticed:9} {module.name} {mutants[index].function}", file=sys.stderr)
            return noticed

        outcomes = list(pool.map(attempt, range(len(mutants))))
    types = TypeChecks(folder / "types")
    for index, outcome in enumerate(outcomes):
        if outcome is Noticed.SURVIVED and types.refuses(mutants[index].module, folder / f"{index}.py"):
            outcomes[index] = Noticed.TYPES
    return dict(zip(mutants, outcomes, strict=True))


def _limit(module: CoreModule) -> float:
    """Return the processor's seconds that a mutant of the module has, by those its tests take without one."""
    noticed, seconds = _attempt(module, settings().home / module.path, _MOST_SECONDS)
    if noticed is not Noticed.SURVIVED:
        raise TrialError(f"The tests of {module.name} fail without any mutant: {' '.join(module.tests)}")
    return min(max(_LEAST_SECONDS, _SLOWER * seconds), _MOST_SECONDS)


def _attempt(module: CoreModule, source: Path, seconds: float) -> tuple[Noticed, float]:
    """Return what the tests make of a source of a module, and the processor's seconds that they took."""
    attempt = [sys.executable, "-m", "benchmarks.mutants.attempt", str(round(seconds))]
    process = subprocess.Popen(
        ["nice", "-n", "10", *attempt, module.name, str(source), *module.tests],
        cwd=settings().home,
        env=_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    code, taken = _waited(process, _WALL * seconds)
    if code in {-signal.SIGXCPU, -signal.SIGKILL}:
        return Noticed.TIMEOUT, taken
    if code == _NO_TESTS:
        raise TrialError(f"No test was found for {module.name}: {' '.join(module.tests)}")
    return Noticed.KILLED if code else Noticed.SURVIVED, taken


def _waited(process: subprocess.Popen[bytes], seconds: float) -> tuple[int, float]:
    """Return the exit code, that of a kill if it took too long, and the processor's seconds that it took."""
    deadline, code = time.monotonic() + seconds, 0
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return code or process.returncode, usage.ru_utime + usage.ru_stime
        if time.monotonic() > deadline:
            code = -signal.SIGKILL
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(_POLL_SECONDS)


def _environment() -> Mapping[str, str]:
    inherited = dict(os.environ)  # noqa: TID251  a child inherits all of it
    return {**inherited, "PYTHONDONTWRITEBYTECODE": "1"}


def _generate(*arguments: str) -> str:
    environment = locked_environment("mutmut", settings().home / "requirements" / "mutants.txt")
    command: Iterable[str] = (str(python_of(environment)), "-I", str(_GENERATE), *arguments)
    return subprocess.run(list(command), check=True, stdout=subprocess.PIPE, text=True).stdout
