"""Incidents about subjects that no spec declares any more: they are not checked, so nothing else would end them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sluice.alerts.alert import Alert
from sluice.alerts.incidents import Incident, Key
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.catalog.dag_ids import backfill_dag_id, mirror_unit, quality_dag_id, unit_of
from sluice.specs.catalog.objectives import declared_objectives
from sluice.specs.model.model import PipelineSpec


def orphaned(incidents: Iterable[Incident], catalog: Catalog, alive: Collection[str] = ()) -> dict[Key, str]:
    """Return why incidents about undeclared subjects are over, by subject and class.

    Args:
        incidents: those that are open.
        catalog: all that is declared. No spec may be broken: what is missing could be in that one.
        alive: units whose newest driver is not on record as ended: their incidents stay open, with or without a spec.
    """
    return {
        incident.key: "No spec declares it any more."
        for incident in incidents
        if not _declared(incident.newest, catalog) and unit_of(incident.newest.dag_id) not in alive
    }


def _declared(alert: Alert, catalog: Catalog) -> bool:
    kind, _, rest = alert.concerns.partition(" ")
    name, _, detail = rest.partition(", ")
    match kind:
        case "unit" | "mirror":
            return name in (catalog.units() if kind == "unit" else catalog.mirrors)
        case "stream":
            deadline = detail.removeprefix("deadline ")
            promised = not deadline or getattr(catalog.deadlines_of(name), deadline, None) is not None
            return promised and any(name in unit.streams for unit in catalog.units().values())
        case "output":
            return any(each.name == name for each in declared_objectives(catalog))
        case "pipeline":
            return _has_alert(catalog.pipelines.get(name), detail)
        case "DAG" if name.startswith((backfill_dag_id(""), quality_dag_id(""), mirror_unit(""))):
            pipelines, mirrors = catalog.interval_pipelines, map(mirror_unit, catalog.mirrors)
            return name in {*map(backfill_dag_id, pipelines), *map(quality_dag_id, pipelines), *mirrors}
        case _:
            return True


def _has_alert(pipeline: PipelineSpec | None, detail: str) -> bool:
    rule = detail.removeprefix("alert ").partition(" ")[0]
    return pipeline is not None and any(each.name == rule for each in pipeline.alerts)
