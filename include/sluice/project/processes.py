"""The processes that a project starts: drivers of units and batches, each with the environment that it needs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sluice.errors import NotConfiguredError
from sluice.intervals.backfill.backfills import Backfill
from sluice.intervals.backfill.claiming import dead_in_the_way
from sluice.intervals.backfill.request import Request
from sluice.project.environments import how_to_set, not_set
from sluice.project.records import ProjectRecords
from sluice.secrecy.secret_values import forms
from sluice.settings import CONTROL_URL, PACKAGE, Settings, StateFolder, lineage_variables
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.catalog.needs import need_of
from sluice.specs.catalog.variables import variables_of_batch, variables_of_mirror, variables_of_unit
from sluice.specs.code.closure import build_archive
from sluice.specs.deployments.bucket_address import is_bucket
from sluice.specs.deployments.deployment import DeploymentSpec
from sluice.streams.life.attempts import Attempt
from sluice.streams.life.launcher import DriverReport, Job, Launcher

if TYPE_CHECKING:
    from sluice.launch.backfill_lock import BackfillLock
    from sluice.launch.master_address import MasterAddress


@dataclass(frozen=True)
class ProjectProcesses:
    """Drivers and batches of one deployment."""

    settings: Settings
    catalog: Catalog
    deployment: DeploymentSpec
    folder: StateFolder
    records: ProjectRecords
    _alive: dict[str, DriverReport] = field(default_factory=dict)

    def spark(self) -> MasterAddress:
        """Return where drivers and batches find their cores."""
        from sluice.launch.master_address import master_address  # noqa: PLC0415 - see `Project`

        return master_address(self.settings.spark_master, self.deployment.spark, self.folder)

    def shares_disk(self) -> bool:
        """Whether executors see the disk with the checkpoints: in a bucket are none, and a cluster has other disks."""
        from sluice.launch.master_address import on_this_machine  # noqa: PLC0415 - see `Project`

        return not is_bucket(self.deployment.storage) or on_this_machine(self.spark().master)

    def launcher(self) -> Launcher:
        """Return what starts drivers."""
        from sluice.launch.standalone import launcher_at  # noqa: PLC0415 - see `Project`

        return launcher_at(self.spark(), self.folder.drivers, self._alive)

    def driver(self, attempt: Attempt) -> Job:
        """Return the process of an attempt: the streaming main, in this project and state folder."""
        # The control database is not in it: a driver needs none, and the URL may hold a password.
        need = need_of(self.catalog, self.settings.deployment, attempt.unit)
        inherits = self.inherited_by_unit(attempt.unit)
        argv = self._driver_arguments(attempt.unit, attempt.generation)
        return Job(argv, self._own_settings(), self.settings.home, need, inherits)

    def rehearsal(self, unit: str, generation: int) -> Job:
        """Return a process that checks everything that a start of a unit needs, and changes nothing."""
        argv = (*self._driver_arguments(unit, generation), "--rehearse")
        own = {
            **self._own_settings(),
            "SLUICE_SPARK_MASTER": "local",  # it runs no task, so it takes no cores of a cluster
            "SLUICE_BATCH_NICENESS": str(self.settings.batch_niceness),
        }
        return Job(argv, own, self.settings.home, inherits=self.inherited_by_unit(unit))

    def mirror(self, name: str) -> Job:
        """Return the process of a mirror; it reads no control database and takes no cores of a cluster."""
        argv = (sys.executable, "-m", "sluice.project.mirroring.process", name)
        inherits = variables_of_mirror(self.catalog, self.catalog.mirrors[name]).names
        return Job(argv, self._own_settings(), self.settings.home, inherits=inherits)

    def batch(self, pipeline: str, arguments: Sequence[str]) -> Job:
        """Return a process of the batch main for a pipeline; it records what it does in the control database."""
        main = self.settings.home / "spark_jobs" / "batch.py"
        inherits = self.inherited_by_batch(pipeline)
        return Job(
            (sys.executable, str(main), *arguments), self.batch_settings(), self.settings.home, inherits=inherits
        )

    def batch_settings(self) -> dict[str, str]:
        """Return our settings for a batch, the control database among them."""
        niceness = str(self.settings.batch_niceness)
        return {
            **self._own_settings(),
            "SLUICE_CONTROL_URL": self.settings.control_url,
            "SLUICE_BATCH_NICENESS": niceness,
        }

    def inherited_by_unit(self, unit: str) -> frozenset[str]:
        """Return the variables that a unit's driver gets from the process that starts it."""
        declared = self.catalog.units().get(unit)
        return frozenset() if declared is None else variables_of_unit(self.catalog, self.deployment, declared).names

    def inherited_by_batch(self, pipeline: str) -> frozenset[str]:
        """Return the variables that a batch gets from the process that starts it, those of lineage included."""
        spec = self.catalog.pipelines.get(pipeline)
        # Where the control database is, if that is not in our settings already: a secret has one source.
        control = frozenset() if self.settings.control_url else frozenset(forms(CONTROL_URL))
        own = frozenset() if spec is None else variables_of_batch(self.catalog, self.deployment, spec).names
        return lineage_variables() | control | own

    def unset(self, unit: str) -> tuple[str, ...]:
        """Return the variables that the specs of a unit name and that are not set here."""
        declared = self.catalog.units().get(unit)
        return () if declared is None else not_set(variables_of_unit(self.catalog, self.deployment, declared))

    def refuse_unconfigured(self, unit: str) -> None:
        """Make sure that a driver which is started from here finds the variables that its specs name.

        Raises:
            NotConfiguredError: names every variable that is not set.
        """
        if names := self.unset(unit):
            raise NotConfiguredError(
                f"the specs of unit {unit!r} name {', '.join(names)}, which {'is' if len(names) == 1 else 'are'} not "
                "set here. Nothing was started.",
                fix=how_to_set(names),
            )

    def archive(self) -> Path:
        """Zip the package, transforms and sinks, so that executors need no repository, and return the file."""
        packages = (PACKAGE, *(self.settings.home / "spark_jobs" / name for name in ("transforms", "sinks")))
        files = {
            str(path.relative_to(package.parent)): path.read_bytes()
            for package in packages
            for path in sorted(package.rglob("*.py"))
        }
        return build_archive(files.items(), self.folder.code)

    def backfill_lock(self, backfill_id: str) -> BackfillLock:
        """Return the lock that a backfill's process holds for its life."""
        from sluice.launch.backfill_lock import BackfillLock  # noqa: PLC0415 - see `Project`

        return BackfillLock(self.folder.backfill(backfill_id))

    def backfills_at_work(self, pipeline: str | None = None) -> list[Backfill]:
        """Return the backfills whose processes live (a pipeline's, if one is named), oldest first.

        Raises:
            UnreachableError: the control database could not be queried.
        """
        running = self.records.backfills().running(pipeline)
        return [backfill for backfill in running if self.backfill_lock(backfill.id).held()]

    def refuse_overlap(self, request: Request, key: str) -> None:
        """Make sure, before Spark starts, that a backfill could be claimed under its key; the claim itself decides.

        Raises:
            OverlapError: another backfill works on a part of the range.
            RefusedError: the key was claimed for another request, or its process is alive.
            UnreachableError: the control database could not be queried.
        """
        backfills = self.records.backfills()
        own, running = backfills.find(key), backfills.running(request.pipeline)
        dead_in_the_way(request, own, running, lambda other: self.backfill_lock(other).held())

    def _driver_arguments(self, unit: str, generation: int) -> tuple[str, ...]:
        main = self.settings.home / "spark_jobs" / "stream.py"
        return (sys.executable, str(main), "--unit", unit, "--generation", str(generation))

    def _own_settings(self) -> dict[str, str]:
        """Return our settings for a process that we start. No secret is among them."""
        settings = self.settings
        return {
            "SLUICE_HOME": str(settings.home),
            "SLUICE_STATE": str(settings.state),
            "SLUICE_DEPLOYMENT": settings.deployment,
            "SLUICE_JARS": str(settings.jars),
            "SLUICE_FAILPOINT": settings.failpoint,
            "SLUICE_SPARK_MASTER": self.spark().master,  # where capacity was checked
        }
