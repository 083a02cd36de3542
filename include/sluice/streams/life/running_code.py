"""Whether a driver runs the code that the files hold now: an edit changes nothing that runs already."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sluice.errors import SluiceError
from sluice.streams.life.driver_files import codes_of
from sluice.streams.life.status import UnitStatus


def outdated(status: UnitStatus, file: Path, code_of: Callable[[str], str]) -> str:
    """Return a sentence if a unit's driver lives and runs other code than the files hold; else nothing."""
    if status.attempt is None or not status.alive:
        return ""
    unit, generation = status.unit, status.attempt.generation
    running = codes_of(file, unit, generation)
    changed = [pipeline for pipeline, code in running.items() if _today(code_of, pipeline) not in (None, code)]
    if not changed:
        return ""
    return (
        f"{unit}: the code, spec or static input of {', '.join(changed)} has changed since generation {generation} "
        f"started, which keeps what it read then; `sluice streams restart {unit}` takes the new one, and "
        f"`sluice streams upgrade {unit}` shows what that means."
    )


def _today(code_of: Callable[[str], str], pipeline: str) -> str | None:
    try:
        return code_of(pipeline)
    except (SluiceError, OSError, KeyError):  # it is gone, or `sluice check` says what is wrong with it
        return None
