"""What is wrong with a stack that does not come up, and what to do."""

from __future__ import annotations

import shutil
from pathlib import Path

from sluice.devstack.supervision import last_lines
from sluice.disk import disk_remedy
from sluice.errors import NotReadyError
from sluice.settings import StateFolder

_FULL_DISK_BYTES = 4 * 1024**2
_FIXES = {
    "No space left on device": "free some space, then run `sluice up` again.",
    "ddress already in use": "another process took its port; `sluice up` again takes the next free one.",
    "Cannot allocate memory": "free some memory, then run `sluice up` again.",
    "file is not a database": "move airflow/airflow.db out of the state folder, then run `sluice up` again.",
}
"""What a log says → what to do."""


def component_fault(name: str, what: str, log: Path, folder: StateFolder) -> NotReadyError:
    """Return the error of a component, with the end of its log."""
    output = "\n".join(last_lines(log))
    if (full := full_disk(folder)) is not None:  # then the log may not say so either
        return NotReadyError(f"{name} {what}: the disk of {full} is full.", fix="free some space, then repeat it.")
    fix = next((fix for sign, fix in _FIXES.items() if sign in output), f"read {log}; `sluice doctor` may know why.")
    return NotReadyError(f"{name} {what}. Its log ends:\n{output}\n", fix=fix)


def full_disk(folder: StateFolder) -> Path | None:
    """Return the first folder of a stack whose disk is full: brokers may have a disk of their own."""
    existing = (path for path in (folder.root, folder.kafka) if path.is_dir())
    return next((path for path in existing if shutil.disk_usage(path).free < _FULL_DISK_BYTES), None)


def unusable(root: Path, error: OSError) -> NotReadyError:
    """Return the error of a state folder that cannot be written."""
    return NotReadyError(
        f"The state folder {root} cannot be used: {error.strerror}.",
        fix=disk_remedy(error.errno, "name another folder with SLUICE_STATE."),
    )
