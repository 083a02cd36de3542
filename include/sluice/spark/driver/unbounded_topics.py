"""Which topics of a unit take times from their producers that its pipelines do not expect.

This keeps no driver from starting: its user may not be allowed to see configurations, and another team may manage the
topic. So it is a warning in the driver's log and in what `sluice status` and `sluice streams show` say of the unit.
"""

from __future__ import annotations

from sluice.errors import SluiceError
from sluice.observability.logs import get_logger
from sluice.project.project import Project
from sluice.specs.catalog.catalog import Unit
from sluice.specs.catalog.stamping import longest_skew, unbounded_stamps
from sluice.specs.model.access import Role

log = get_logger()


def unbounded_topics(project: Project, unit: Unit) -> tuple[str, ...]:
    """Return a sentence for each topic that the unit reads and that is not bounded as its readers need it, and log it.

    A topic whose configurations the driver's user may not see is left out.
    """
    catalog = project.catalog
    names = sorted({*unit.topics, *(topic for name in unit.pipelines for topic in catalog.pipelines[name].topics)})
    if not names:  # Kafka would take no names for all
        return ()
    try:
        with project.kafka.administration(Role.STREAM) as cluster:
            in_force = cluster.configs_in_force(names)
    except SluiceError as error:
        log.info("the configurations of topics could not be read", topics=names, why=str(error))
        return ()
    warnings = []
    for name in (name for name in names if name in in_force):
        skew = longest_skew(name, catalog.readers.get(name, ()))
        if warning := unbounded_stamps(catalog.topics[name], in_force[name], skew):
            log.warning("producers' times are not bounded", topic=name, why=warning)
            warnings.append(warning)
    return tuple(warnings)
