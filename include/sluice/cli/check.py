"""`sluice check`: are the specs right?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

import typer

from sluice.cli.terminal.output import Output, OutputOption, err_lines, print_data
from sluice.feeds.lines import feed_lines_hold
from sluice.gx.vocabulary import expectations_are_known_since
from sluice.project.environments import how_to_set, not_set
from sluice.settings import Settings, settings
from sluice.specs.catalog.variables import variables_of_unit
from sluice.specs.load import Scan, scan
from sluice.specs.reading.kinds import Key, Kind
from sluice.specs.rules.contracts import contracts_hold
from sluice.specs.rules.rules import RULES

_WRONG = 2
_EMPTY = (
    "This project declares no topic yet. Next: `sluice new topic NAME --sample FILE` writes one from a file of records."
)


def check(
    output: OutputOption = Output.TABLE,
) -> None:
    """Check all specs and transforms; nothing is started and nothing is asked.

    Exit codes: 0 all is well; 2 with every fault as `file:line`.
    """
    place = settings()
    rules = (*RULES, contracts_hold, feed_lines_hold, expectations_are_known_since(place.folder.known_suites))
    found = scan(place.home / "include", deployment=place.deployment, rules=rules)
    if output.for_programs:
        print_data(output, report(found, place))
    else:
        _show(found, place)
    if found.faults:
        raise typer.Exit(_WRONG)


def report(found: Scan, place: Settings) -> dict[str, object]:
    """Return the outcome as JSON values: `ok`, sound specs by kind, what could not be checked, and the faults.

    `unchecked` are specs without a fault of their own that depend on one with; `unguarded` pipelines without a suite;
    `shared` pipelines that share a driver with a raw stream; `unset`, by unit, variables that its specs name and that
    are not set here.
    """
    return {
        "ok": not found.faults,
        "sound": _sound(found),
        "unchecked": sorted(f"{kind} {name}" for kind, name in found.dependants),
        "unguarded": unguarded(found),
        "shared": [{"pipeline": p, "driver": d, "topic": t} for p, d, t in sharing(found)],
        "unset": variables_not_set(found, place),
        "faults": [fault.as_dict() for fault in found.faults],
    }


def unguarded(found: Scan) -> list[str]:
    """Return the pipelines for which nobody has written a suite: no fault, but worth a word."""
    catalog = found.catalog
    guarded = {suite.pipeline for suite in catalog.expectations.values()} | set(catalog.doubtful_suites.values())
    return sorted(catalog.interval_pipelines.keys() - guarded)


def sharing(found: Scan) -> list[tuple[str, str, str]]:
    """Return pipeline, driver and topic where a pipeline shares a driver with a raw stream: worth a word."""
    catalog = found.catalog
    drivers = {topic.raw.driver: name for name, topic in sorted(catalog.topics.items(), reverse=True)}
    return [(name, p.driver, drivers[p.driver]) for name, p in sorted(catalog.pipelines.items()) if p.driver in drivers]


def variables_not_set(found: Scan, place: Settings) -> dict[str, tuple[str, ...]]:
    """Return the variables that are not set here, by the unit whose specs name them; a fault only for who starts it."""
    deployment = found.catalog.deployments.get(place.deployment)
    if deployment is None:
        return {}
    catalog = found.catalog.in_deployment(place.deployment)
    every = {name: not_set(variables_of_unit(catalog, deployment, unit)) for name, unit in catalog.units().items()}
    return {name: names for name, names in every.items() if names}


def summary(found: Scan) -> str:
    """Return one sentence about the outcome: where faults are, what they keep from being checked, and what is sound."""
    if not found.faults:
        return f"All specs are sound: {', '.join(_counted(_sound(found)))}."
    faults = f"{len(found.faults)} fault{'' if len(found.faults) == 1 else 's'}"
    own = _counted(_by_kind(found.broken.keys() - found.dependants.keys()))
    waiting = _counted(_by_kind(found.dependants))
    because = "it" if len(found.faults) == 1 else "them"
    told = [
        f"{faults} in {', '.join(own)}" if own else faults,
        *([f"Not checked because of {because}: {', '.join(waiting)}"] if waiting else []),
        f"Sound: {', '.join(_counted(_sound(found), zero=False)) or 'nothing'}",
    ]
    return f"{'. '.join(told)}."


def _counted(counts: Mapping[str, int], *, zero: bool = True) -> list[str]:
    return [f"{count} {kind if count == 1 else Kind(kind).plural}" for kind, count in counts.items() if count or zero]


def _by_kind(keys: Collection[Key]) -> dict[str, int]:
    named = Counter(kind for kind, _ in keys)
    return {kind.value: named[kind] for kind in Kind if named[kind]}


def _sound(found: Scan) -> dict[str, int]:
    return {kind.value: len(getattr(found.catalog, kind.folder)) for kind in Kind}


def _show(found: Scan, place: Settings) -> None:
    """Print one fault per line: unwrapped, so that editors and `grep` find file and line."""
    for fault in found.faults:
        err_lines.print(str(fault))
    for pipeline in unguarded(found):
        note = f"The pipeline {pipeline} has no suite in include/expectations: nothing checks the values it publishes."
        err_lines.print(note, style="yellow")
    for pipeline, driver, topic in sharing(found):
        note = f"The pipeline {pipeline} shares the driver {driver} with the raw stream of {topic}"
        err_lines.print(f"{note}: a failure of the session (memory, the JVM) ends both.", style="yellow")
    for unit, names in variables_not_set(found, place).items():
        err_lines.print(f"Unit {unit} cannot be started from here: {', '.join(names)} not set.", style="yellow")
        err_lines.print(f"  Fix: {how_to_set(names)}", style="yellow")
    err_lines.print(summary(found), style="red" if found.faults else "green")
    if not found.faults and not found.catalog.topics:
        err_lines.print(_EMPTY)
