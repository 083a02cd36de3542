"""The composition root: puts the core and its adapters together for the command line, Airflow and drivers.

Adapters are imported inside the methods that build them: Airflow parses DAG files again and again, and a file that only
reads specs must not pay for Kafka's client or SQLAlchemy.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from sluice.clock import Clock, SystemClock
from sluice.errors import SpecError
from sluice.project.kafka import ProjectKafka
from sluice.project.processes import ProjectProcesses
from sluice.project.records import ProjectRecords
from sluice.project.tables import ProjectTables
from sluice.settings import Settings, StateFolder
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.code.identity import pipeline_parts
from sluice.specs.code.parts import CodeParts
from sluice.specs.deployments.deployment import DeploymentSpec
from sluice.specs.load import Scan, load_catalog, scan
from sluice.specs.reading.kinds import Kind
from sluice.specs.units import declared_units
from sluice.static.places import StaticPlaces
from sluice.storage.folder import folder_at

if TYPE_CHECKING:
    from sluice.project.health import ProjectHealth
    from sluice.project.streams import ProjectStreams
    from sluice.project.topics import ProjectTopics


class Project:
    """The specs of a project in one deployment, and what is built from them.

    Attributes:
        settings: where things are on this machine.
        catalog: all specs, as they are in this deployment.
        deployment: the spec that `settings.deployment` names.
        clock: gives the time.
    """

    def __init__(self, settings: Settings, catalog: Catalog, clock: Clock | None = None) -> None:
        self.settings = settings
        self.catalog = catalog.in_deployment(settings.deployment)
        self.deployment: DeploymentSpec = catalog.deployment(settings.deployment)
        self.clock = clock or SystemClock()

    @classmethod
    def open_strict(cls, settings: Settings) -> Project:
        """Read the specs, all of which have to be sound. Opens no connection.

        Raises:
            SpecError: a spec is wrong (all faults at once), or the deployment does not exist.
        """
        return cls(settings, load_catalog(settings.home / "include"))

    @classmethod
    def open_tolerant(cls, settings: Settings) -> Project:
        """Read the specs and leave out broken ones, so that the others can be operated. Opens no connection.

        Raises:
            SpecError: see `of_sound`.
        """
        return cls.of_sound(settings, scan(settings.home / "include"))

    @classmethod
    def of_sound(cls, settings: Settings, specs: Scan) -> Project:
        """Take the specs that are sound, among which that of the deployment has to be.

        Raises:
            SpecError: it is broken (with all its faults) or missing.
        """
        specs.refuse_broken(Kind.DEPLOYMENT, settings.deployment)
        return cls(settings, specs.catalog)

    @cached_property
    def folder(self) -> StateFolder:
        """The names of things below the state folder, and where the deployment keeps tables and checkpoints."""
        storage = self.deployment.storage
        return StateFolder(self.settings.state, folder_at(storage) if storage else None)

    @property
    def static_places(self) -> StaticPlaces:
        """Where static inputs are."""
        return StaticPlaces(self.settings.home / "include", self.folder.table)

    @cached_property
    def kafka(self) -> ProjectKafka:
        """Addresses, logins and administration of the cluster."""
        return ProjectKafka(self.deployment.kafka, self.catalog.users, self.folder)

    @cached_property
    def records(self) -> ProjectRecords:
        """The control database."""
        return ProjectRecords(self.settings, self.folder, self.clock)

    @cached_property
    def tables(self) -> ProjectTables:
        """Ledgers and raw tables."""
        return ProjectTables(self.catalog, self.folder, self.records)

    @cached_property
    def processes(self) -> ProjectProcesses:
        """Drivers and batches: how they are started, and with which environment."""
        return ProjectProcesses(self.settings, self.catalog, self.deployment, self.folder, self.records)

    @cached_property
    def streams(self) -> ProjectStreams:
        """Lives of units, and checkpoints of streams."""
        from sluice.project.streams import ProjectStreams  # noqa: PLC0415 - a batch has no unit

        return ProjectStreams(self.catalog, self.folder, self.records, self.processes, self.clock)

    @cached_property
    def health(self) -> ProjectHealth:
        """Observations of streams, and verdicts on them."""
        from sluice.project.health import ProjectHealth  # noqa: PLC0415 - a batch observes no stream

        return ProjectHealth(self.catalog, self.folder, self.kafka, self.records, self.streams, self.clock)

    @cached_property
    def topics(self) -> ProjectTopics:
        """Topics and principals, as provisioning needs them."""
        from sluice.project.topics import ProjectTopics  # noqa: PLC0415 - most processes plan no topics

        return ProjectTopics(self.settings, self.catalog, self.deployment, self.kafka, self.streams, self.health)

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
        for pipeline in self.catalog.unit(unit).pipelines:
            self.catalog.expected_of_records(pipeline)  # raises while its suite is broken

    def code_of(self, pipeline: str) -> str:
        """Return the hash of a pipeline's code, spec and static inputs as they are today."""
        return self.code_parts_of(pipeline).hash

    def code_parts_of(self, pipeline: str) -> CodeParts:
        """Return the parts of a pipeline's code as they are today."""
        spec = self.catalog.pipelines[pipeline]
        expected = self.catalog.expected_of_records(pipeline)
        topics = {name: self.catalog.topics[source.topic] for name, source in spec.topic_sources.items()}
        return pipeline_parts(self.settings.home, spec, topics, expected)
