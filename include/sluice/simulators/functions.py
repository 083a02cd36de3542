"""Events that a function of the project makes: `include/simulators/<module>.py`."""

from __future__ import annotations

import importlib.util
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from sluice.errors import SpecError
from sluice.simulators.draws import generator
from sluice.specs.feeds.simulation import SIMULATORS, Simulation, simulator_file

Event = tuple[datetime, dict[str, Any]]
Function = Callable[[Random, datetime, datetime], Any]
_FORM = "yield (time, fields): a datetime with its zone, and a dict of the topic's fields without its times."


def made_events(simulation: Simulation, include: Path) -> Iterator[Event]:
    """Yield the events that the simulation's function makes: their time (UTC) and their fields.

    The function takes a `random.Random`, the start and the end, and yields events in the order of their times. All
    functions of a module draw the same numbers under one seed, so that several topics can tell one story.

    Raises:
        SpecError: the function is not there, fails, or makes something else than events of the time from start to end.
    """
    reference = simulation.function or ""
    function = _function(reference, include)
    last = simulation.start
    for number, event in enumerate(_events(function, simulation), 1):
        at, fields = _checked(event, f"event {number:,} of {reference}")
        if not last <= at < simulation.end:
            when = "before the one before it" if simulation.start <= at < last else "outside the simulated time"
            raise SpecError(
                f"event {number:,} of {reference} happens at {at:%Y-%m-%dT%H:%M:%S}Z, {when}.",
                fix=f"yield events in the order of their times, from {simulation.start} to before {simulation.end}.",
            )
        last = at
        yield at, fields


def _file(reference: str, include: Path) -> Path:
    """Return the file with a function.

    Raises:
        SpecError: there is none.
    """
    path = simulator_file(reference, include)
    if not path.is_file():
        raise SpecError(f"there is no file include/{SIMULATORS}/{path.name}.", fix="write it, or correct `function`.")
    return path


def _function(reference: str, include: Path) -> Function:
    path, name = _file(reference, include), reference.partition(":")[2]
    found = importlib.util.spec_from_file_location(f"{SIMULATORS}.{path.stem}", path)
    assert found is not None  # noqa: S101 - a file whose name ends in .py
    assert found.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(found)
    try:
        found.loader.exec_module(module)
    except Exception as error:
        raise SpecError(f"include/{SIMULATORS}/{path.name} cannot be imported: {_at(error)}.") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise SpecError(
            f"include/{SIMULATORS}/{path.name} has no function {name!r}.", fix="write it, or correct `function`."
        )
    return function  # type: ignore[no-any-return]


def _events(function: Function, simulation: Simulation) -> Iterator[Any]:
    reference = simulation.function or ""
    try:
        random = generator(simulation.seed, reference.partition(":")[0])
        yield from function(random, simulation.start, simulation.end)
    except Exception as error:
        raise SpecError(f"{reference} fails: {_at(error)}.", fix="correct the function.") from error


def _at(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f", at line {frames[-1].lineno} of {Path(frames[-1].filename).name}" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


def _checked(event: object, what: str) -> Event:
    match event:
        case (datetime() as at, dict() as fields) if at.tzinfo is not None and all(
            isinstance(key, str) for key in fields
        ):
            return at.astimezone(UTC), fields
    raise SpecError(f"{what} is {event!r:.200}, and no event.", fix=_FORM)
