"""What is known of a unit's upgrade: from the driver's files, the kept parts of codes, ledgers, and trials."""

from __future__ import annotations

import json

from sluice.intervals.backfill.backfills import Backfill, BackfillState
from sluice.intervals.backfill.request import Mode
from sluice.intervals.ledger import Ledger
from sluice.project.project import Project
from sluice.specs.catalog.streams import streams_of
from sluice.specs.code.parts import code_changes, kept_parts
from sluice.streams.life.driver_files import codes_of
from sluice.streams.life.status import UnitStatus
from sluice.streams.upgrade import PipelineUpgrade, StaleIntervals, Trial, UnitUpgrade, output_effects

_BACKFILLS = 100
"""How many backfills are looked through for a trial, newest first."""


def unit_upgrade(project: Project, unit: str, status: UnitStatus) -> UnitUpgrade:
    """Return what a restart of a unit would change.

    Args:
        project: the specs, and where things are.
        unit: its name.
        status: of the unit, as it was seen.

    Raises:
        SpecError: there is no such unit, or a static input of it is not there.
        UnreachableError: the control database could not be queried.
        CorruptionError: a table's log cannot be read.
    """
    generation = status.attempt.generation if status.attempt is not None and status.alive else None
    codes = {} if generation is None else codes_of(project.folder.unit_file(unit), unit, generation)
    names = project.catalog.unit(unit).pipelines
    return UnitUpgrade(unit, generation, tuple(_pipeline(project, name, codes.get(name)) for name in names))


def _pipeline(project: Project, name: str, running: str | None) -> PipelineUpgrade:
    spec, parts = project.catalog.pipelines[name], project.code_parts_of(name)
    disk = parts.hash
    ledger = project.tables.ledger(name) if spec.has_intervals else None
    written = None if ledger is None else _newest_code(ledger)
    before = running or written
    known = None if before is None else kept_parts(project.folder.code, before)
    return PipelineUpgrade(
        pipeline=name,
        disk=disk,
        running=running,
        written=written,
        changes=None if known is None else code_changes(known, parts),
        outputs=tuple(
            effect
            for stream in streams_of(spec)
            for effect in output_effects(stream, project.streams.keeps_state(stream.name))
        ),
        intervals=None if ledger is None else StaleIntervals.of(ledger, disk),
        trial=None if ledger is None else _newest_trial(project, name, disk),
    )


def _newest_code(ledger: Ledger) -> str | None:
    return next((row.current.code for row in reversed(ledger.spans) if row.current is not None), None)


def _newest_trial(project: Project, pipeline: str, code: str) -> Trial | None:
    for backfill in project.records.backfills().recent(pipeline, limit=_BACKFILLS):
        if backfill.request.mode is not Mode.TRY or backfill.state is not BackfillState.DONE:
            continue
        if (trial := _trial_of(project, backfill, code)) is not None:
            return trial
    return None


def _trial_of(project: Project, backfill: Backfill, code: str) -> Trial | None:
    """Return a backfill as a trial of a code; None if it tried another one, or its result is gone."""
    try:
        result = json.loads((project.folder.backfill(backfill.id) / "result.json").read_bytes())
        if result["code"] == code and backfill.ended_at is not None:
            return Trial(backfill.id, backfill.ended_at, backfill.outcome, result["compared"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None
