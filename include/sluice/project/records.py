"""The control database of a project: one accessor for each kind of record in it.

Every accessor may raise UnreachableError (the database could not be asked) and RefusedError (its schema is newer than
this code).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sluice.clock import Clock
from sluice.settings import Settings, StateFolder, control_url
from sluice.storage.objects import objects_in

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from sluice.capacity.costs import CostLog
    from sluice.intervals.backfill.backfills import Backfills
    from sluice.objectives.log import ObjectiveLog
    from sluice.provisioning.growth.order_break import OrderBreaks
    from sluice.quality.cases import Cases
    from sluice.quality.results import QualityResults
    from sluice.streams.desired_copy import DesiredCopy
    from sluice.streams.health.snapshots import SnapshotStore
    from sluice.streams.registry import Registry


@dataclass(frozen=True)
class ProjectRecords:
    """What is on record of one deployment. It connects on first use."""

    settings: Settings
    folder: StateFolder
    clock: Clock

    @cached_property
    def database(self) -> Engine:
        """The database, its schema up to date."""
        from sluice.control.database import migrate, open_database, sqlite_url  # noqa: PLC0415 - see `Project`
        from sluice.postgres.renewal import renew  # noqa: PLC0415 - the same

        url = control_url(self.settings)
        engine = open_database(url or sqlite_url(self.folder.control))
        if url and engine.dialect.name != "sqlite":
            renew(engine, lambda: control_url(self.settings))
        migrate(engine)
        return engine

    def registry(self) -> Registry:
        """Return the record of desired states, attempts, verdicts and deadlines of streams."""
        return self._registry

    @cached_property
    def _registry(self) -> Registry:
        from sluice.control.registry import SqlRegistry  # noqa: PLC0415 - see `Project`

        return SqlRegistry(self.database, self.settings.deployment, self.clock, self.desired_copy())

    def desired_copy(self) -> DesiredCopy:
        """Return the copy of the desired states, which is where the tables are."""
        from sluice.streams.desired_copy import DesiredCopy  # noqa: PLC0415 - see `Project`

        return DesiredCopy(objects_in(self.folder.desired), self.clock)

    def backfills(self) -> Backfills:
        """Return the record of backfills."""
        from sluice.control.backfills import SqlBackfills  # noqa: PLC0415 - see `Project`

        return SqlBackfills(self.database, self.settings.deployment, self.clock)

    def cases(self) -> Cases:
        """Return the record of cases of quarantined records."""
        from sluice.control.cases import SqlCases  # noqa: PLC0415 - see `Project`

        return SqlCases(self.database, self.settings.deployment)

    def quality(self) -> QualityResults:
        """Return the results of expectations of intervals."""
        from sluice.control.quality import SqlQualityResults  # noqa: PLC0415 - see `Project`

        return SqlQualityResults(self.database, self.settings.deployment)

    def snapshots(self) -> SnapshotStore:
        """Return the newest observation of each stream."""
        from sluice.control.snapshots import SqlSnapshotStore  # noqa: PLC0415 - see `Project`

        return SqlSnapshotStore(self.database, self.settings.deployment)

    def objectives(self) -> ObjectiveLog:
        """Return the record of how outputs with an objective were."""
        from sluice.control.objectives import SqlObjectiveLog  # noqa: PLC0415 - see `Project`

        return SqlObjectiveLog(self.database, self.settings.deployment)

    def costs(self) -> CostLog:
        """Return the record of what drivers and batches have used."""
        from sluice.control.costs import SqlCostLog  # noqa: PLC0415 - see `Project`

        return SqlCostLog(self.database, self.settings.deployment)

    def order_breaks(self) -> OrderBreaks:
        """Return the record of growths of keyed topics, each with the offsets where the order of keys breaks."""
        from sluice.control.order_breaks import SqlOrderBreaks  # noqa: PLC0415 - see `Project`

        return SqlOrderBreaks(self.database, self.settings.deployment)
