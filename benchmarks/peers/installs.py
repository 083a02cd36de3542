"""Where the peers live: outside this project's environment, in a cache, by locks of their own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.locked_environment import cache, locked_environment, python_of
from sluice.devstack.jars import Jars
from sluice.devstack.own_jar import OwnJar
from sluice.errors import SluiceError
from sluice.settings import environment

_HERE = Path(__file__).parent
_LOCKS, _JAVA = _HERE / "locks", _HERE / "java"
_FOLDERS = ("flink", "kstreams")


@dataclass(frozen=True)
class Flink:
    """PyFlink in an environment of its own.

    Attributes:
        python: its interpreter.
        jars: the connector of Kafka, and the function that looks campaigns up.
    """

    python: Path
    jars: tuple[Path, ...]


def install_flink() -> Flink:
    """Install PyFlink if it is not there, and compile its function."""
    folder = locked_environment("flink", _LOCKS / "flink.txt")
    (libraries,) = folder.glob("lib/python*/site-packages/pyflink/lib")
    own = _own_jar("flink", libraries)
    return Flink(python_of(folder), (own, *sorted((_jars() / "flink").glob("flink-*.jar"))))


def install_kstreams() -> str:
    """Fetch Kafka Streams if it is not there, and compile the program; return the class path."""
    libraries = _jars() / "kstreams"
    return f"{_own_jar('kstreams', libraries)}:{libraries}/*"


def fault_of(install: Callable[[], object]) -> str:
    """Install a peer, and return why that was not possible; empty: it was."""
    try:
        install()
    except (SluiceError, subprocess.CalledProcessError) as error:
        return str(error)
    return ""


def _jars() -> Path:
    folder = cache() / "jars"
    Jars(folder, _LOCKS, _FOLDERS).ensure()
    return folder


def _own_jar(name: str, libraries: Path) -> Path:
    own = OwnJar(_JAVA / name, cache() / "own" / name)
    own.ensure((libraries,), environment().get("JAVA_HOME", ""))
    return own.path
