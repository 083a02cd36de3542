"""What a driver writes for its observers: small files, which prove nothing by their absence.

It rewrites the progress file of a stream after each batch, and every few seconds while idle. Of a settled table it says
in a file of its own what it waits for, which outlives the driver. Into a file of its unit it writes its code and its
warnings at its start, and its executors whenever they change: a driver whose last worker died stays alive, plans a
batch and waits, for ever if need be.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sluice.settling import status as settling
from sluice.settling.status import SettlingStatus
from sluice.streams.failures.failure import Failure, from_record


@dataclass(frozen=True)
class Executors:
    """How many a driver has, with how many cores together, and since when that is so (UTC)."""

    count: int
    cores: int
    since: datetime


def _content(file: Path) -> Mapping[str, Any]:
    """Return what a file says; nothing if it is absent, is just being replaced, or holds something else."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _of_unit(file: Path, unit: str, generation: int | None) -> Mapping[str, Any]:
    """Return what a generation's driver wrote into a file; nothing if another one wrote it."""
    content = _content(file)
    return content if (content.get("unit"), content.get("generation")) == (unit, generation) else {}


def last_report(progress: Path) -> datetime | None:
    """Return when a driver last wrote a stream's progress file (UTC); None if that is not known."""
    try:
        return datetime.fromisoformat(_content(progress)["at"])
    except (ValueError, KeyError, TypeError):
        return None


def ended_alone(progress: Path, generation: int) -> Failure | None:
    """Return why a driver of this generation has ended one of its streams and goes on; None if it has not."""
    content = _content(progress)
    return from_record(content.get("ended")) if content.get("generation") == generation else None


def is_done(progress: Path, generation: int) -> bool:
    """Return whether a driver of this generation says that a stream has read what was there at its start."""
    content = _content(progress)
    return content.get("generation") == generation and content.get("done") is True


def settling_status(file: Path) -> SettlingStatus | None:
    """Return where the settler of a table stood after its newest round; None if that is not known."""
    return settling.from_record(_content(file))


def executors_of(file: Path, unit: str, generation: int | None) -> Executors | None:
    """Return what a generation's driver said in its unit's file; None if it said nothing, or needs none."""
    content = _of_unit(file, unit, generation)
    try:
        return Executors(int(content["executors"]), int(content["cores"]), datetime.fromisoformat(content["since"]))
    except (ValueError, KeyError, TypeError):
        return None


def codes_of(file: Path, unit: str, generation: int) -> dict[str, str]:
    """Return the code hash of each pipeline of a driver, as it said at its start; {} if it said nothing."""
    codes = _of_unit(file, unit, generation).get("codes")
    return {str(pipeline): str(code) for pipeline, code in codes.items()} if isinstance(codes, dict) else {}


def warnings_of(file: Path, unit: str, generation: int) -> tuple[str, ...]:
    """Return what a driver warned of at its start, a sentence each; nothing if it said nothing."""
    warnings = _of_unit(file, unit, generation).get("warnings")
    return tuple(map(str, warnings)) if isinstance(warnings, list) else ()


def spark_ui_address(progress: Path, unit: str, generation: int) -> str | None:
    """Return the address of a generation's Spark UI; None before its first batch is done.

    Each progress file of the folder may have it.
    """
    contents = (_of_unit(file, unit, generation) for file in sorted(progress.glob("*.json")))
    return next((str(content["spark_ui"]) for content in contents if content.get("spark_ui")), None)
