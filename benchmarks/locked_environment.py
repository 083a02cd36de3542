"""Python environments of benchmarks that this project's own must not have: in a cache, by locks with digests."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from sluice.settings import environment


def cache() -> Path:
    """Return the folder of all that is installed for benchmarks; it may be removed at any time."""
    return Path(environment().get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sluice-peers"


def locked_environment(name: str, lock: Path) -> Path:
    """Install what a lock names, if it is not there, and return the folder of the environment.

    Raises:
        subprocess.CalledProcessError: it cannot be installed; what `uv` said is on the standard error.
    """
    folder = cache() / f"{name}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    mark, uv = folder / "installed", Path(sys.executable).with_name("uv")
    if not mark.exists():
        _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder)
        _run(uv, "pip", "install", "--quiet", "--python", python_of(folder), "--require-hashes", "-r", lock)
        mark.touch()
    return folder


def python_of(folder: Path) -> Path:
    """Return the interpreter of an environment."""
    return folder / "bin" / "python"


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, stdout=sys.stderr)
