"""`sluice check`: validate the specs and transforms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Annotated

import typer

from sluice.cli.terminal import completion
from sluice.cli.terminal.output import Output, OutputOption, counted, emit, err_lines
from sluice.cli.terminal.pipelines import open_pipeline
from sluice.clock import SystemClock
from sluice.feeds.lines import feed_lines_hold
from sluice.gx.vocabulary import expectations_are_known_since
from sluice.kafka.client.pem_files import PemFault
from sluice.kafka.deployment_client import unusable_files
from sluice.project.environments import how_to_set, not_set
from sluice.proof.eligibility import weekly_proofs_can_be_made
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
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="PIPELINE",
            autocompletion=completion.pipelines,
            help="Show every setting of Spark, Kafka and Delta with which a pipeline runs, and where it comes from.",
        ),
    ] = None,
) -> None:
    """Check all specs and transforms, without starting or contacting anything.

    Exit codes: 0 all are valid; 2 some are not; each fault is printed as `file:line`.
    """
    if explain is not None:
        _explain(explain, output)
        return
    config = settings()
    suites_are_known = expectations_are_known_since(config.folder.known_suites)
    rules = (*RULES, contracts_hold, feed_lines_hold, suites_are_known, weekly_proofs_can_be_made)
    scanned = scan(config.home / "include", deployment=config.deployment, rules=rules)
    emit(output, report(scanned, config), lambda: _show(scanned, config))
    if scanned.faults:
        raise typer.Exit(_WRONG)


def _explain(name: str, output: Output) -> None:
    from sluice.cli.checking.explained import as_values, explained, show  # noqa: PLC0415 - the reader of Delta tables comes along

    project, pipeline = open_pipeline(name)
    found = explained(project, pipeline)
    emit(output, as_values(pipeline, found), lambda: show(pipeline, found))


def report(scanned: Scan, config: Settings) -> dict[str, object]:
    """Return the outcome as JSON values: `ok`, the number of sound specs by kind, what was not checked, the faults.

    `unchecked` are specs without a fault that depend on one with a fault; `unguarded` are pipelines without a suite;
    `shared` are pipelines that share a driver with a raw stream; `unset` are the variables that specs name and that are
    not set here, by unit; `tls` are the files of the deployment that cannot be used here.
    """
    return {
        "ok": not scanned.faults,
        "sound": _sound(scanned),
        "unchecked": sorted(f"{kind} {name}" for kind, name in scanned.dependants),
        "unguarded": without_suite(scanned),
        "shared": [{"pipeline": p, "driver": d, "topic": t} for p, d, t in shared_drivers(scanned)],
        "unset": variables_not_set(scanned, config),
        "tls": [asdict(fault) for fault in unusable_certificates(scanned, config)],
        "faults": [asdict(fault) for fault in scanned.faults],
    }


def without_suite(scanned: Scan) -> list[str]:
    """Return the pipelines without a suite, which deserve a warning."""
    catalog = scanned.catalog
    guarded = {suite.pipeline for suite in catalog.expectations.values()} | set(catalog.doubtful_suites.values())
    return sorted(catalog.interval_pipelines.keys() - guarded)


def shared_drivers(scanned: Scan) -> list[tuple[str, str, str]]:
    """Return pipeline, driver and topic of each pipeline that shares a driver with a raw stream: a warning."""
    catalog = scanned.catalog
    drivers = {topic.raw.driver: name for name, topic in sorted(catalog.topics.items(), reverse=True)}
    return [(name, p.driver, drivers[p.driver]) for name, p in sorted(catalog.pipelines.items()) if p.driver in drivers]


def variables_not_set(scanned: Scan, config: Settings) -> dict[str, tuple[str, ...]]:
    """Return the variables that are not set here, by the unit whose specs name them: it cannot be started here."""
    deployment = scanned.catalog.deployments.get(config.deployment)
    if deployment is None:
        return {}
    catalog = scanned.catalog.in_deployment(config.deployment)
    every = {name: not_set(variables_of_unit(catalog, deployment, unit)) for name, unit in catalog.units().items()}
    return {name: names for name, names in every.items() if names}


def unusable_certificates(scanned: Scan, config: Settings) -> tuple[PemFault, ...]:
    """Return the files by which nothing connects to the deployment's Kafka from here, a warning."""
    deployment = scanned.catalog.deployments.get(config.deployment)
    if deployment is None or deployment.kafka.kind != "external":
        return ()
    return unusable_files(deployment.kafka, SystemClock().now())


def summary(scanned: Scan) -> str:
    """Return the outcome in a line: where the faults are, what was not checked because of them, and what is sound."""
    if not scanned.faults:
        return f"All specs are sound: {', '.join(_counted(_sound(scanned)))}."
    faults = counted(len(scanned.faults), "fault")
    own = _counted(_by_kind(scanned.broken.keys() - scanned.dependants.keys()))
    waiting = _counted(_by_kind(scanned.dependants))
    because = "it" if len(scanned.faults) == 1 else "them"
    parts = [
        f"{faults} in {', '.join(own)}" if own else faults,
        *([f"Not checked because of {because}: {', '.join(waiting)}"] if waiting else []),
        f"Sound: {', '.join(_counted(_sound(scanned), zero=False)) or 'nothing'}",
    ]
    return f"{'. '.join(parts)}."


def _counted(counts: Mapping[str, int], *, zero: bool = True) -> list[str]:
    return [f"{count} {kind if count == 1 else Kind(kind).plural}" for kind, count in counts.items() if count or zero]


def _by_kind(keys: Collection[Key]) -> dict[str, int]:
    named = Counter(kind for kind, _ in keys)
    return {kind.value: named[kind] for kind in Kind if named[kind]}


def _sound(scanned: Scan) -> dict[str, int]:
    return {kind.value: len(getattr(scanned.catalog, kind.folder)) for kind in Kind}


def _show(scanned: Scan, config: Settings) -> None:
    """Print one fault per line, so that editors and `grep` find file and line."""
    for fault in scanned.faults:
        err_lines.print(str(fault))
    for pipeline in without_suite(scanned):
        note = f"The pipeline {pipeline} has no suite in include/expectations: its published values are not checked."
        err_lines.print(note, style="yellow")
    for pipeline, driver, topic in shared_drivers(scanned):
        note = f"The pipeline {pipeline} shares the driver {driver} with the raw stream of {topic}"
        err_lines.print(f"{note}: a failure of the session (memory, the JVM) ends both.", style="yellow")
    for unit, names in variables_not_set(scanned, config).items():
        err_lines.print(f"Unit {unit} cannot be started here: {', '.join(names)} not set.", style="yellow")
        err_lines.print(f"  Fix: {how_to_set(names)}", style="yellow")
    for unusable in unusable_certificates(scanned, config):
        err_lines.print(f"Kafka cannot be reached from here: {unusable}.", style="yellow")
        err_lines.print(f"  Fix: {unusable.fix}", style="yellow")
    err_lines.print(summary(scanned), style="red" if scanned.faults else "green")
    if not scanned.faults and not scanned.catalog.topics:
        err_lines.print(_EMPTY)
