"""What the DAG `reconcile_streams` does, without Airflow."""

from __future__ import annotations

from sluice.airflow.streams.reconciliation import decide, restore_desired_states
from sluice.airflow.streams.stream_request import UnitCommand, UnitRequest, claim, submit
from sluice.clock import Clock, SystemClock
from sluice.project.project import Project
from sluice.specs.load import scan
from sluice.specs.units import declared_units


def follow(project: Project, clock: Clock) -> list[str]:
    """Do what the DAG `reconcile_streams` does in a minute, and the runs that it triggers; return what was started."""
    include, streams, registry = project.settings.home / "include", project.streams, project.records.registry()
    restore_desired_states(Project(project.settings, project.catalog, clock))
    needed = decide(
        declared_units(scan(include), include).values(),
        observe=lambda unit: streams.life(unit).record_end(),
        active_runs=lambda _unit: 0,
        notified=lambda _unit, _since: True,
        now=SystemClock().now(),
    )
    for unit, action in needed:
        request = UnitRequest(unit, UnitCommand.FOLLOW, "the reconciler", action.why)
        claimed = claim(request, streams.life(unit), registry)
        assert claimed.generation is not None, claimed.why
        submit(unit, claimed.generation, streams.life(unit))
    return [f"{action.kind} {unit}: {action.why}" for unit, action in needed]
