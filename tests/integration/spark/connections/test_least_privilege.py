"""A real driver under the rights of its role: it reads, commits and delivers, and with one right less it halts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sluice.delta.reading import read_rows
from sluice.kafka.access import KafkaPythonAccess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.project.kafka import ProjectKafka
from sluice.project.project import Project
from sluice.provisioning.access.acl import Acl
from sluice.provisioning.access.roles import declared
from sluice.provisioning.access_scope import AccessScope
from sluice.settings import Settings, settings
from sluice.spark.driver.exit_report import ExitReport
from sluice.spark.driver.unit import run_streams
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.model.access import Operation, PrincipalSpec, Role, Scram
from sluice.specs.model.outputs import TopicOutput
from sluice.specs.model.topic_shape import TopicShape
from sluice.streams.failures.classification import FailureClass
from sluice.streams.failures.exits import ExitCode
from sluice.topics.administration import TopicCreation
from tests.integration.secured import SecuredBroker, running_secured
from tests.integration.spark.conftest import publish_two_days, two_days_of_values
from tests.integration.spark.driver.deliveries import consumed
from tests.matrix.census import Census
from tests.matrix.recording import FaultRecorder

PASSWORD = "correct horse"  # noqa: S105 - of a broker that lives for seconds
STREAM = PrincipalSpec(
    name="stream",
    user="sluice-stream",
    role=Role.STREAM,
    hosts=("127.0.0.1",),
    scram=Scram(password_variable="SLUICE_PASSWORD_STREAM"),  # noqa: S106 - the name of a variable
)


@dataclass(frozen=True)
class KafkaOfPrincipal(ProjectKafka):
    """The cluster as the stream's user connects."""

    broker: SecuredBroker

    def bootstrap(self) -> tuple[str, ...]:
        return (self.broker.bootstrap,)

    def client(self, role: Role = Role.PLANNER) -> Mapping[str, str]:
        assert role is Role.STREAM, "a driver is nobody else"
        return self.broker.client(STREAM.user, PASSWORD)


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[SecuredBroker]:
    folder = tmp_path / "secured"
    folder.mkdir()
    with running_secured(folder, settings().jars) as broker:
        yield broker


@pytest.fixture
def project(secured: SecuredBroker, catalog: Catalog, tmp_path: Path) -> Project:
    """Departures with a topic output, and the stream as the only principal."""
    departures = catalog.pipelines["departures"]
    hourly = TopicOutput(
        kind="topic", topic="hourly", keys=("hour", "origin", "carrier"), create=TopicShape(partitions=1)
    )
    pipelines = {"departures": departures.model_copy(update={"outputs": (*departures.outputs, hourly)})}
    with_hourly = replace(catalog, pipelines=pipelines, access={STREAM.name: STREAM})
    project = Project(Settings(state=tmp_path / "state"), with_hourly)
    project.kafka = KafkaOfPrincipal(project.deployment.kafka, project.catalog.users, project.folder, secured)
    return project


def run(project: Project, spark: SparkSession, generation: int) -> ExitReport:
    """Run the streams to the end of the topic, and return what they say if they fail."""
    words = ExitReport()
    try:
        code = run_streams(project, spark, "flights", generation, available_now=True, exit_report=words)
    except Exception as error:  # noqa: BLE001 - a driver's main keeps it in the same way
        words.write(error)
    else:
        assert (code is ExitCode.STOPPED) is (words.failure is None)
    return words


@pytest.mark.verify
@pytest.mark.proves("rights-revoked")
def test_a_driver_needs_exactly_the_rights_of_its_role(
    secured: SecuredBroker, project: Project, spark: SparkSession, faults: FaultRecorder
) -> None:
    records = publish_two_days(secured.everything)
    with KafkaPythonAdministration([secured.everything]) as cluster:
        cluster.create([TopicCreation("hourly", 1, 1)])
    needed = {(acl.right.operation, str(acl.right.resource)): acl for acl in declared(STREAM, project.catalog)}
    assert needed.keys() == {(Operation.READ, "topic flights"), (Operation.WRITE, "topic hourly")}

    with KafkaPythonAccess([secured.everything]) as access:
        AccessScope(project.catalog, access, lambda _: PASSWORD).apply()
        for generation, right in enumerate(needed.values(), start=1):
            assert without(right, access, project, spark, generation) is FailureClass.AUTHORISATION
            faults.struck(f"without {right.right.operation} on {right.right.resource} it ended as AUTHORISATION")
    assert run(project, spark, len(needed) + 1).failure is None
    faults.recovered()
    raw = read_rows(project.folder.table("flights_raw"))
    faults.counted(Census.of(two_days_of_values(), raw.to_pandas()["value"]))
    assert raw.num_rows == records
    assert consumed(secured.everything, "hourly").once


def without(
    right: Acl, access: KafkaPythonAccess, project: Project, spark: SparkSession, generation: int
) -> FailureClass | None:
    """Run the streams with one right less, and return what class of failure that is."""
    access.revoke([right])
    try:
        words = run(project, spark, generation)
    finally:
        access.grant([right])
    return None if words.failure is None else words.failure.kind
