"""Whether a driver runs the code that the files hold now: an edit changes nothing that runs already."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from sluice.errors import SluiceError
from sluice.streams.life.status import UnitStatus


def codes_of(file: Path, unit: str, generation: int) -> dict[str, str]:
    """Return the code hash of each pipeline of a driver, as it said at its start; {} if it said nothing.

    Args:
        file: the unit's.
        unit: the driver's name in the specs.
        generation: the attempt's.
    """
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
        if (said["unit"], said["generation"]) != (unit, generation):
            return {}
        return {str(pipeline): str(code) for pipeline, code in said["codes"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # it proves nothing by its absence


def outdated(status: UnitStatus, file: Path, code_of: Callable[[str], str]) -> str:
    """Return a sentence if a unit's driver lives and runs other code than the files hold; else nothing.

    Args:
        status: what is seen of the unit.
        file: the unit's, which its driver writes.
        code_of: returns the code hash of a pipeline as its files are now.
    """
    if status.attempt is None or not status.alive:
        return ""
    unit, generation = status.unit, status.attempt.generation
    running = codes_of(file, unit, generation)
    changed = [pipeline for pipeline, code in running.items() if _today(code_of, pipeline) not in (None, code)]
    if not changed:
        return ""
    return (
        f"{unit}: the code, spec or static input of {', '.join(changed)} has changed since generation {generation} "
        f"started, which goes on with what it has read then; `sluice streams restart {unit}` takes the new one."
    )


def _today(code_of: Callable[[str], str], pipeline: str) -> str | None:
    try:
        return code_of(pipeline)
    except (SluiceError, OSError, KeyError):  # it is gone, or `sluice check` says what is wrong with it
        return None
