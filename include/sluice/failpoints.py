"""Failpoints: places where a test lets a driver, or who orchestrates it, die or fall asleep, with proof that it did.

`SLUICE_FAILPOINT=<name>[@<table>][:<nth>]` kills the process with SIGKILL, and its whole group if it leads one (Python
and JVM), the nth time the place is passed (for that table or unit only, if one is named). A marker file is made durable
first, so a test can tell a kill from a crash, and what is restarted does not die again. With `=pause` at the end it is
stopped by SIGSTOP instead, as on a machine that sleeps, and goes on from there once it is sent SIGCONT.
"""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Literal

from sluice.errors import SpecError
from sluice.settings import Settings, settings
from sluice.storage.bucket_folder import BucketFolder
from sluice.storage.folder import Folder, files_in

Failpoint = Literal[
    "before_open",  # all that the start of a unit needs is known to be there; nothing is changed
    "before_write",  # the batch is planned in the offset log; nothing is written
    "after_write_before_commit",  # the table has the batch; Spark's commit log does not
    "mid_write",  # data files of the batch are written; no commit names them
    "after_mark",  # a batch that is sent at most once is on record as sent; nothing of it is
    "between_outputs",  # the first output of a batch has it; the next one does not
    "after_stage",  # a chunk of a backfill is computed and on disk; nobody has checked it
    "after_gate",  # it may be published; nothing is
    "mid_publish",  # data files of it are written; no commit names them
    "after_publish_before_index",  # it is published; the control database does not know
    "between_backfills",  # a backfill of a replay is done; the next one, or the case, is not
    "before_case_closes",  # all of them are done; the case is open
    "before_removal",  # the floor of a raw table is on record; no record below it is removed
    "after_idle_decision",  # a driver is about to end because nothing came; its streams run
    "after_submit_before_bind",  # a driver lives; its attempt is an intent
    "after_bind_before_defer",  # it is bound; nobody watches it
    "after_poll_before_event",  # a watcher has seen something; nobody was notified
]

_PAUSE = "=pause"
_FORM = re.compile(rf"(?P<name>[a-z_]+)(@(?P<table>[a-z0-9_]+))?(:(?P<nth>[0-9]+))?({_PAUSE})?")
_passed: Counter[str] = Counter()


def marker(place: Settings) -> Path:
    """Return the file that proves that the failpoint of these settings fired in their state folder."""
    return place.state / "failpoints" / place.failpoint.replace(":", "-")


def failpoint(name: Failpoint, table: str) -> None:
    """Die or fall asleep here if the settings say so; `table` may be a unit."""
    proof = _due(name, table)
    if proof is not None:
        _write_durably(proof)
        _strike()


@contextmanager
def failpoint_when(name: Failpoint, table: str, condition: Callable[[], Callable[[], bool]]) -> Iterator[None]:
    """Die or fall asleep inside this block as soon as something holds, if the settings say so.

    Args:
        name: of the failpoint.
        table: that is worked on.
        condition: called at the beginning, only if the settings say so; what it returns is asked again and again.
    """
    proof = _due(name, table)
    if proof is None:
        yield
        return
    holds, left = condition(), Event()
    ready = proof.with_name(f"{proof.name}.ready")
    _write_durably(ready)

    def watch() -> None:
        while not left.is_set():
            if holds():
                ready.rename(proof)  # at once: what is waited for may pass while a disk is waited for
                _strike()
                return

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        left.set()
        watcher.join()


def uncommitted_data(folder: Folder) -> Callable[[], bool]:
    """Return whether data files have appeared in a table since now that no commit names yet; for `failpoint_when`."""
    before, commits = _data_in(folder), _commits_in(folder)

    def appeared() -> bool:
        return bool(_data_in(folder) - before) and _commits_in(folder) == commits

    return appeared


def _data_in(folder: Folder) -> set[str]:
    names = folder.below() if isinstance(folder, BucketFolder) else map(str, folder.rglob("*.parquet"))
    return {name for name in names if name.endswith(".parquet")}


def _commits_in(folder: Folder) -> int:
    return sum(1 for _ in files_in(folder / "_delta_log", ".json"))


def _due(name: Failpoint, table: str) -> Path | None:
    """Return the file that will prove the death that is due here, or None."""
    place = settings()
    if not place.failpoint:
        return None
    wanted = _FORM.fullmatch(place.failpoint)
    if wanted is None:
        raise SpecError(f"SLUICE_FAILPOINT={place.failpoint!r} is not name[@table][:nth][{_PAUSE}].")
    if wanted["name"] != name or wanted["table"] not in (None, table):
        return None
    _passed[name] += 1
    proof = marker(place)
    return proof if _passed[name] == int(wanted["nth"] or 1) and not proof.exists() else None


def _write_durably(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
        file.flush()
        os.fsync(file.fileno())


def _strike() -> None:
    """Kill or stop the process group if this process leads it (a driver does), else only itself."""
    number = signal.SIGSTOP if settings().failpoint.endswith(_PAUSE) else signal.SIGKILL
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), number)
    else:
        os.kill(os.getpid(), number)
