"""What this machine has: the facts that `doctor` judges. Nothing here decides anything."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from sluice.devstack.jars import Jars, own_jar
from sluice.devstack.kafka.java import Java, find_java
from sluice.launch.ports import DEFAULT_PORTS, is_free
from sluice.settings import Settings, environment

_MEMBERSHIP = Path("/proc/self/cgroup")
_CONTROL_GROUPS = Path("/sys/fs/cgroup")
_FILES = {
    "": ("memory.max", "memory.current"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes"),
}
"""Files of limit and usage by controller: version 2 has none in its line, version 1 says `memory`."""


@dataclass(frozen=True)
class Machine:
    """The facts.

    Attributes:
        system: as `platform.system()` says.
        python: version of the running interpreter.
        java: the Java that Spark and Kafka would use; None if there is none.
        java_home: the variable JAVA_HOME, or "".
        memory_bytes: what may still be allocated, by the machine or by our control group, whichever is less.
        disk_bytes: free space where the state folder is.
        state: the state folder.
        state_is_writable: whether files can be made in it, or, where it is not there, in what is there of its path.
        stack_is_up: a stack of this state folder has recorded its endpoints.
        free_ports: each wanted port by its purpose, and whether it is free.
        missing_jars: jars that are not there or not verified.
        pyspark: installed versions of pyspark and pyspark-client; "" if not installed.
    """

    system: str
    python: tuple[int, int]
    java: Java | None
    java_home: str
    memory_bytes: int
    disk_bytes: int
    state: Path
    state_is_writable: bool
    stack_is_up: bool
    free_ports: Mapping[str, bool]
    missing_jars: tuple[str, ...]
    pyspark: tuple[str, str]


def inspect(settings: Settings) -> Machine:
    """Gather the facts. Starts Java twice, for half a second."""
    home = environment().get("JAVA_HOME", "")
    return Machine(
        system=platform.system(),
        python=sys.version_info[:2],
        java=find_java(home),
        java_home=home,
        memory_bytes=min(psutil.virtual_memory().available, control_group_memory()),
        disk_bytes=shutil.disk_usage(_existing(settings.state)).free,
        state=settings.state,
        state_is_writable=os.access(_existing(settings.state), os.W_OK | os.X_OK),
        stack_is_up=settings.folder.stack.exists(),
        free_ports={f"{purpose} {port}": is_free(port) for purpose, port in DEFAULT_PORTS.items()},
        missing_jars=(*Jars(settings.jars).missing(), *own_jar(settings).missing()),
        pyspark=(_version("pyspark"), _version("pyspark-client")),
    )


def control_group_memory(membership: Path = _MEMBERSHIP, root: Path = _CONTROL_GROUPS) -> int:
    """Return what the tightest of our control groups leaves, in bytes; huge if none sets a limit.

    Args:
        membership: the file that names our groups (`/proc/self/cgroup`).
        root: where the hierarchies are mounted: version 2, or version 1 with its memory controller.
    """
    left = sys.maxsize
    for line in _read(membership).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        top = root / controllers
        limit, usage = _FILES[controllers]
        group = top / path.strip("/")
        for folder in (group, *group.parents):  # in a container the path itself may not be visible, its top is
            limit_bytes, used_bytes = _read(folder / limit), _read(folder / usage)
            if limit_bytes.isdigit() and used_bytes.isdigit():
                left = min(left, int(limit_bytes) - int(used_bytes) + _reclaimable(folder))
            if folder == top:
                break
    return left


def _reclaimable(group: Path) -> int:
    """Return the file cache that a control group gives back on demand, in bytes."""
    fields = dict(line.split() for line in _read(group / "memory.stat").splitlines() if len(line.split()) == 2)  # noqa: PLR2004 - name and number
    return int(fields.get("inactive_file", 0))


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""
