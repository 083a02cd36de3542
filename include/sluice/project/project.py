"""The composition root: puts the core and its adapters together for the command line, Airflow and drivers.

Adapters are imported inside the methods that build them: Airflow parses DAG files again and again, and a file that only
reads specs must not pay for Kafka's client or SQLAlchemy.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from sluice.clock import Clock, SystemClock
from sluice.errors import SpecError, UnreachableError
from sluice.intervals.backfill.claiming import dead_in_the_way
from sluice.intervals.backfill.request import Request
from sluice.intervals.ledger import Ledger, fold
from sluice.intervals.reach import RawPosition
from sluice.launch.endpoints import read_endpoints
from sluice.project.environments import (
    batch_settings,
    inherited_by_batch,
    inherited_by_unit,
    own_settings,
    refuse_unconfigured,
)
from sluice.project.logins import client_of
from sluice.project.survey import Looks, Survey, case_of
from sluice.settings import PACKAGE, Settings, StateFolder
from sluice.specs.catalog.catalog import Catalog, Unit
from sluice.specs.catalog.needs import need_of
from sluice.specs.code.closure import build_archive
from sluice.specs.code.identity import pipeline_hash
from sluice.specs.deployments.deployment import DeploymentSpec
from sluice.specs.load import load_catalog, scan
from sluice.specs.model.access import Role
from sluice.specs.units import declared_units
from sluice.streams.health.evidence import Stamps, gather
from sluice.streams.health.observation import Evidence
from sluice.streams.health.recording import lagging_since
from sluice.streams.health.spark_ui import spark_ui_address
from sluice.streams.health.verdict import Verdict, judge
from sluice.streams.life.attempts import Attempt
from sluice.streams.life.launcher import DriverReport, Job, Launcher
from sluice.streams.life.life import UnitLife
from sluice.streams.life.lives import Lives
from sluice.streams.life.sighting import Sighting
from sluice.streams.life.timeline import Timeline, timeline
from sluice.streams.position.checkpoint import Checkpoint
from sluice.streams.position.epochs import Epochs
from sluice.streams.registry import Registry

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from sluice.control.index import LedgerIndex, LedgerSource
    from sluice.intervals.backfill.backfills import Backfills
    from sluice.kafka.administration import KafkaPythonAdministration
    from sluice.launch.backfill_lock import BackfillLock
    from sluice.launch.place import MasterAddress


class Project:
    """The specs of a project in one deployment, and what is built from them.

    Attributes:
        settings: where things are on this machine.
        catalog: all specs, as they are in this deployment.
        deployment: the spec that `settings.deployment` names.
    """

    def __init__(self, settings: Settings, catalog: Catalog, clock: Clock | None = None) -> None:
        if settings.deployment not in catalog.deployments:
            raise SpecError(
                f"SLUICE_DEPLOYMENT is {settings.deployment!r}, and include/deployments has "
                f"{', '.join(sorted(catalog.deployments)) or 'none'}.",
                fix="set it to one of these, or add a file.",
            )
        self.settings = settings
        self.catalog = catalog.in_deployment(settings.deployment)
        self.deployment: DeploymentSpec = catalog.deployments[settings.deployment]
        self._clock = clock or SystemClock()
        self._alive: dict[str, DriverReport] = {}

    @classmethod
    def open(cls, settings: Settings) -> Project:
        """Read the specs. Opens no connection.

        Raises:
            SpecError: a spec is wrong (all faults at once), or the deployment does not exist.
        """
        return cls(settings, load_catalog(settings.home / "include"))

    @classmethod
    def open_sound(cls, settings: Settings) -> Project:
        """Read those specs that are sound: a broken one must not keep anybody from looking after the others.

        Raises:
            SpecError: the deployment does not stand.
        """
        return cls(settings, scan(settings.home / "include").catalog)

    @cached_property
    def folder(self) -> StateFolder:
        """The names of things below the state folder, and where the deployment keeps tables and checkpoints."""
        storage = self.deployment.storage
        return StateFolder(self.settings.state, Path(storage) if storage else None)

    def unit(self, name: str) -> Unit:
        """Return a unit.

        Raises:
            SpecError: no spec names such a driver.
        """
        units = self.catalog.units()
        if name not in units:
            raise SpecError(
                f"there is no unit {name!r}; the specs name {', '.join(units) or 'none'}.",
                fix="a unit is what `driver:` says in a pipeline or a topic's `raw`.",
            )
        return units[name]

    def refuse_broken(self, unit: str) -> None:
        """Make sure that every spec of a unit is sound: a driver without one of its streams is not what was declared.

        Raises:
            SpecError: with every fault; or no spec names such a driver.
        """
        include = self.settings.home / "include"
        declared = declared_units(scan(include), include).get(unit)
        if declared is not None and declared.faults:
            raise SpecError(
                f"unit {unit!r} is broken:\n" + "\n".join(declared.faults), fix="run `sluice check` and repair it."
            )
        for pipeline in self.unit(unit).pipelines:
            self.catalog.expected_of_records(pipeline)  # while its suite is broken nobody knows what they are

    def bootstrap(self) -> tuple[str, ...]:
        """Return Kafka's addresses; raise NotReadyError if the embedded stack is not up."""
        kafka = self.deployment.kafka
        return kafka.bootstrap if kafka.kind == "external" else read_endpoints(self.folder).kafka_bootstrap

    def kafka_client(self, role: Role = Role.PLANNER) -> Mapping[str, str]:
        """Return the settings by which a process of a role connects; see `sluice.project.logins.client_of`."""
        return client_of(self, role)

    def administration(self, role: Role = Role.PLANNER, *, patience_seconds: float = 15) -> KafkaPythonAdministration:
        """Return the administration of the deployment's Kafka. It connects on first use.

        Args:
            role: of the process that connects.
            patience_seconds: how long to look for a broker that answers.

        Raises:
            NotReadyError: see `kafka_client`.
        """
        from sluice.kafka.administration import KafkaPythonAdministration  # noqa: PLC0415 - see the module's docstring

        return KafkaPythonAdministration(self.bootstrap(), self.kafka_client(role), patience_seconds=patience_seconds)

    def registry(self) -> Registry:
        """Return the control database, its schema up to date.

        Raises:
            UnreachableError: it could not be asked.
            RefusedError: its schema is newer than this code.
        """
        return self._registry

    @cached_property
    def _registry(self) -> Registry:
        from sluice.control.registry import SqlRegistry  # noqa: PLC0415 - see the module's docstring

        return SqlRegistry(self.control_database, self.settings.deployment, self._clock)

    @cached_property
    def control_database(self) -> Engine:
        """The control database, its schema up to date."""
        from sluice.control.database import migrate, open_database, sqlite_url  # noqa: PLC0415 - see the module's docstring

        engine = open_database(self.settings.control_url or sqlite_url(self.folder.control))
        migrate(engine)
        return engine

    def backfills(self) -> Backfills:
        """Return the record of backfills.

        Raises:
            UnreachableError: the control database could not be asked.
            RefusedError: its schema is newer than this code.
        """
        from sluice.control.backfills import SqlBackfills  # noqa: PLC0415 - see the module's docstring

        return SqlBackfills(self.control_database, self.settings.deployment, self._clock)

    def backfill_lock(self, backfill_id: str) -> BackfillLock:
        """Return the lock that a backfill's process holds for its life."""
        from sluice.launch.backfill_lock import BackfillLock  # noqa: PLC0415 - see the module's docstring

        return BackfillLock(self.folder.backfill(backfill_id))

    def refuse_overlap(self, request: Request, key: str) -> None:
        """Make sure, before Spark starts for it, that a backfill could be claimed now; the claim itself decides.

        Args:
            request: what is asked.
            key: names the asking.

        Raises:
            OverlapError: another backfill works on a part of the range.
            RefusedError: the key was claimed for another request, or its process is alive.
            UnreachableError: the control database could not be asked.
        """
        backfills = self.backfills()
        own, running = backfills.find(key), backfills.running(request.pipeline)
        dead_in_the_way(request, own, running, lambda other: self.backfill_lock(other).held())

    def index(self) -> LedgerIndex:
        """Return the index of the interval ledger, over all pipelines that have intervals.

        Raises:
            UnreachableError: the control database could not be asked.
            RefusedError: its schema is newer than this code.
        """
        from sluice.control.index import LedgerIndex  # noqa: PLC0415 - see the module's docstring

        sources = {name: self._ledger_source(name) for name in self.catalog.interval_pipelines}
        return LedgerIndex(self.control_database, self.settings.deployment, sources)

    def _ledger_source(self, pipeline: str) -> LedgerSource:
        from sluice.control.index import LedgerSource  # noqa: PLC0415 - see the module's docstring
        from sluice.delta.log import read_log  # noqa: PLC0415 - see the module's docstring

        spec = self.catalog.pipelines[pipeline]
        table, raw = self.folder.table(spec.intervals.table), partial(self.raw_position, spec.source)
        return LedgerSource(spec.intervals.interval_length, lambda after: read_log(table, after=after), raw)

    def launcher(self) -> Launcher:
        """Return what starts drivers."""
        from sluice.launch.standalone import launcher_at  # noqa: PLC0415 - see the module's docstring

        return launcher_at(self.spark_place(), self.folder.drivers, self._alive)

    def spark_place(self) -> MasterAddress:
        """Return where drivers and batches find their cores."""
        from sluice.launch.place import spark_place  # noqa: PLC0415 - see the module's docstring

        return spark_place(self.settings.spark_master, self.deployment.spark, self.folder)

    def life(self, unit: str) -> UnitLife:
        """Return the life of a unit, whether or not a spec names it now: a driver outlives its spec.

        Raises:
            UnreachableError: the control database could not be asked.
        """
        return self.lives().of(unit)

    def lives(self) -> Lives:
        """Return the lives of all units.

        Raises:
            UnreachableError: the control database could not be asked.
        """
        deployment = self.settings.deployment
        refuse = partial(refuse_unconfigured, self)
        return Lives(
            self.registry(), self.launcher(), deployment=deployment, job=self.job, refuse=refuse, clock=self._clock
        )

    def timeline(self, unit: str) -> Timeline:
        """Return what was tried for a unit, newest first, and what comes next.

        Raises:
            UnreachableError: the control database could not be asked.
        """
        sighting, launcher = self.life(unit).look(), self.launcher()
        living = sighting.attempt if sighting.alive else None
        address = None if living is None else spark_ui_address(self.folder.progress, unit, living.generation)
        return timeline(
            sighting,
            self.registry().attempts(unit),
            now=self._clock.now(),
            log=launcher.log,
            spark_ui=address,
        )

    def job(self, attempt: Attempt) -> Job:
        """Return the process of an attempt: the streaming main, in this project and state folder."""
        main = self.settings.home / "spark_jobs" / "stream.py"
        argv = (sys.executable, str(main), "--unit", attempt.unit, "--generation", str(attempt.generation))
        # The control database is not in it: a driver needs none, and the URL may hold a password.
        need = need_of(self.catalog, self.settings.deployment, attempt.unit)
        inherits = inherited_by_unit(self, attempt.unit)
        return Job(argv, own_settings(self), self.settings.home, need, inherits)

    def batch_job(self, pipeline: str, arguments: Sequence[str]) -> Job:
        """Return a process of the batch main for a pipeline; it records what it does in the control database."""
        main = self.settings.home / "spark_jobs" / "batch.py"
        argv, inherits = (sys.executable, str(main), *arguments), inherited_by_batch(self, pipeline)
        return Job(argv, batch_settings(self), self.settings.home, inherits=inherits)

    def code_of(self, pipeline: str) -> str:
        """Return the hash of a pipeline's code, spec and static inputs as they are today."""
        spec = self.catalog.pipelines[pipeline]
        expected = self.catalog.expected_of_records(pipeline)
        return pipeline_hash(self.settings.home, spec, self.catalog.topics[spec.source], expected)

    def archive(self) -> Path:
        """Zip the package and the transforms for executors, so that workers need no repository, and return the file."""
        packages = (PACKAGE, self.settings.home / "spark_jobs" / "transforms")
        files = {
            str(path.relative_to(package.parent)): path.read_bytes()
            for package in packages
            for path in sorted(package.rglob("*.py"))
        }
        return build_archive(files.items(), self.folder.code)

    def ledger(self, pipeline: str) -> Ledger:
        """Return the interval ledger of a pipeline's output, as its log and the raw table are now.

        Raises:
            CorruptionError: the log cannot be read.
        """
        from sluice.delta.log import read_log  # noqa: PLC0415 - see the module's docstring

        spec = self.catalog.pipelines[pipeline]
        # The entries first: the raw table only grows, so it is never seen further back than they are.
        entries = read_log(self.folder.table(spec.intervals.table))
        return fold(entries, spec.intervals.interval_length, self.raw_position(spec.source).reach)

    def raw_position(self, topic: str) -> RawPosition:
        """Return how far a topic's raw table goes."""
        from sluice.delta.log import raw_position  # noqa: PLC0415 - see the module's docstring

        found = raw_position(self.folder.table(self.catalog.topics[topic].raw.table))
        return replace(found, reach=found.reach.preceded_by(Epochs(self.folder.checkpoint(f"raw_{topic}")).topics))

    def checkpoint(self, stream: str) -> Checkpoint:
        """Return the reader of a stream's checkpoint, in the newest epoch."""
        return Epochs(self.folder.checkpoint(stream)).checkpoint()

    def evidence(self, unit: str, *, stamps: Stamps = Stamps.IF_OLD) -> Mapping[str, Evidence]:
        """Gather what can be seen of every stream of a unit. What cannot be seen is None in it, with a note.

        Args:
            unit: the driver's name in the specs.
            stamps: when to ask for the timestamps of unread records.

        Raises:
            SpecError: no spec names such a driver.
        """
        declared = self.unit(unit)
        case = case_of(self, declared, *self._sighting(unit))
        with ExitStack() as connections:

            @cache
            def cluster() -> KafkaPythonAdministration:
                return connections.enter_context(self.administration(Role.WATCHER, patience_seconds=5))

            return gather([case], cluster, at=self._clock.now(), stamps=stamps)[unit]

    def survey(self, looks: Looks) -> Survey:
        """Return what gathers the evidence of many units at once, again and again.

        Args:
            looks: what an earlier survey has seen.
        """
        return Survey(self, self._clock, looks)

    def verdicts(self, unit: str, *, closely: bool = False) -> Mapping[str, Verdict]:
        """Judge every stream of a unit by one look, and by what a watcher has found out over a longer time.

        Args:
            unit: the driver's name in the specs.
            closely: whether to ask, for a third of a second per topic, how long each partition's first record waits.

        Raises:
            SpecError: no spec names such a driver.
        """
        found = self.evidence(unit, stamps=Stamps.ALWAYS if closely else Stamps.IF_OLD)
        since = self._lagging_since(unit)
        return {stream: judge(seen, lagging_since=since.get(stream)) for stream, seen in found.items()}

    def _lagging_since(self, unit: str) -> Mapping[str, datetime | None]:
        try:
            attempt, records = self.registry().latest_attempt(unit), self.registry().verdicts(unit)
        except UnreachableError:
            return {}
        return {r.stream: lagging_since(r, attempt.generation if attempt else None) for r in records}

    def _sighting(self, unit: str) -> tuple[Sighting | None, tuple[str, ...]]:
        try:
            return self.life(unit).look(), ()
        except UnreachableError as error:
            return None, (str(error),)
