"""Failpoints: places where a test lets a driver die, with proof that it did.

`SLUICE_FAILPOINT=<name>[@<table>][:<nth>]` kills the driver's whole process group (Python and JVM) with SIGKILL the nth
time the place is passed (for that table only, if one is named). A marker file is made durable first, so a test can tell
a kill from a crash, and a restarted driver does not die again.
"""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Literal

from sluice.errors import SpecError
from sluice.settings import Settings, settings

Failpoint = Literal[
    "before_write",  # the batch is planned in the offset log; nothing is written
    "after_write_before_commit",  # the table has the batch; Spark's commit log does not
]

_FORM = re.compile(r"(?P<name>[a-z_]+)(@(?P<table>[a-z0-9_]+))?(:(?P<nth>[0-9]+))?")
_passed: Counter[str] = Counter()


def marker(place: Settings) -> Path:
    """Return the file that proves that the failpoint of these settings fired in their state folder."""
    return place.state / "failpoints" / place.failpoint.replace(":", "-")


def failpoint(name: Failpoint, table: str) -> None:
    """Die here if the settings say so."""
    place = settings()
    if not place.failpoint:
        return
    wanted = _FORM.fullmatch(place.failpoint)
    if wanted is None:
        raise SpecError(f"SLUICE_FAILPOINT={place.failpoint!r} is not name[@table][:nth].")
    if wanted["name"] != name or wanted["table"] not in (None, table):
        return
    _passed[name] += 1
    proof = marker(place)
    if _passed[name] == int(wanted["nth"] or 1) and not proof.exists():
        _write_durably(proof, f"{os.getpid()}\n")
        _die()


def _write_durably(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _die() -> None:
    """Kill the process group if this process leads it (a driver does), else only itself."""
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
