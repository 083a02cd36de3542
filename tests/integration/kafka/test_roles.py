"""Each role on a broker that refuses what is not granted: its rights suffice, and not one of them can be spared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType
from kafka.errors import KafkaError

from sluice.access.acl import Acl
from sluice.access.administration import Credential
from sluice.access.apply import Approval, apply, look
from sluice.access.plan import plan
from sluice.access.roles import declared
from sluice.errors import SluiceError
from sluice.kafka.access import KafkaPythonAccess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.connection import client_arguments
from sluice.kafka.feed import open_feed
from sluice.kafka.reader import KafkaPythonReader
from sluice.settings import settings
from sluice.specs.access import Duty, Mechanism, PrincipalSpec, Role, Scram
from sluice.specs.catalog import Catalog
from sluice.specs.load import load_catalog
from sluice.specs.outputs import TopicOutput, TopicShape
from sluice.topics.administration import TopicCreation
from sluice.topics.apply import Approval as TopicApproval
from sluice.topics.apply import apply as apply_topics
from sluice.topics.apply import current_plan
from tests.integration.secured import SecuredBroker, running_secured
from tests.twins.access import allows

VARIABLE = "SLUICE_PASSWORD_TESTS"
PASSWORD = "correct horse"  # noqa: S105 - of a broker that lives for seconds
HOST = "127.0.0.1"


def principal(role: Role, **more: object) -> PrincipalSpec:
    duties = more.get("duties")
    name = role.value + "".join(f"_{duty}" for duty in duties or ())
    spec = {"name": name, "user": f"sluice-{name}", "role": role, "hosts": (HOST,), **more}
    return PrincipalSpec(**spec, scram=Scram(password_variable=VARIABLE))  # type: ignore[arg-type]


PRINCIPALS = [
    principal(Role.FEED),
    principal(Role.STREAM, scope=("flights",)),
    principal(Role.BACKFILL),
    principal(Role.WATCHER),
    principal(Role.PLANNER, scope=("planned",)),
    principal(Role.PLANNER, scope=("planned",), duties=(Duty.REMOVAL,)),
    principal(Role.PLANNER, scope=("planned",), duties=(Duty.PLACEMENT,)),
    principal(Role.PLANNER, scope=("planned",), duties=(Duty.ACCESS,)),
]


def shipped_with_more() -> Catalog:
    """Return the shipped specs, with a topic output, a mirrored pipeline, a topic to plan, and the principals."""
    catalog = load_catalog(settings().home / "include")
    flights, departures = catalog.topics["flights"], catalog.pipelines["departures"]
    hourly = TopicOutput(kind="topic", topic="hourly", keys=("hour",), create=TopicShape(partitions=1))
    mirrored = departures.model_copy(update={"outputs": (*departures.outputs, hourly), "mirror_group": "shown"})
    raw = flights.raw.model_copy(update={"table": "planned_raw", "driver": "planned"})
    planned = flights.model_copy(update={"name": "planned", "partitions": 1, "raw": raw})
    return replace(
        catalog,
        topics={"flights": flights, "planned": planned},
        pipelines={"departures": mirrored},
        access={spec.name: spec for spec in PRINCIPALS},
    )


@dataclass(frozen=True)
class Site:
    """A secured broker with the topics and principals of the specs."""

    broker: SecuredBroker
    catalog: Catalog
    folder: Path
    numbers: Iterator[int]

    def client(self, spec: PrincipalSpec) -> Mapping[str, str]:
        return self.broker.client(spec.user, PASSWORD)

    def arguments(self, spec: PrincipalSpec) -> dict[str, Any]:
        return {"bootstrap_servers": self.broker.bootstrap, **client_arguments(self.client(spec))}

    def administration(self, spec: PrincipalSpec) -> KafkaPythonAdministration:
        return KafkaPythonAdministration([self.broker.bootstrap], self.client(spec), patience_seconds=10)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    catalog, folder = shipped_with_more(), tmp_path_factory.mktemp("secured")
    with running_secured(folder, settings().jars) as broker:
        with KafkaPythonAdministration([broker.everything]) as all_powerful:
            all_powerful.create([TopicCreation(name, 2, 1, {"retention.ms": "-1"}) for name in ("flights", "hourly")])
            all_powerful.create([TopicCreation("planned", 1, 1)])
        with closing(KafkaProducer(bootstrap_servers=broker.everything)) as producer:
            producer.send("flights", b"{}").get(30)
        with KafkaPythonAccess([broker.everything]) as access:
            todo = plan(catalog, look(access))
            apply(catalog, access, lambda _: PASSWORD, approval=Approval(todo.id))
            assert not plan(catalog, look(access)), "a second plan has nothing to do"
        yield Site(broker, catalog, folder, count())


def feed(site: Site, spec: PrincipalSpec) -> None:
    """Send a day, as a sender that has lost its notes: it reads first what there is."""
    number = next(site.numbers)
    day = date(2013, 1, 1) + timedelta(days=number)
    topic, pipelines = site.catalog.topics["flights"], site.catalog.pipelines.values()
    where = {"bootstrap": [site.broker.bootstrap], "client": site.client(spec)}
    with open_feed(
        site.catalog.feeds["flights"], topic, pipelines, folder=site.folder / f"{number}", **where
    ) as sender:  # type: ignore[arg-type]
        assert sender.send(day, day).sent > 0


def stream(site: Site, spec: PrincipalSpec) -> None:
    """Look at the topics, read the source and write the output, as a driver does; Spark itself is another test's."""
    with site.administration(spec) as cluster:
        for extent in cluster.extents(["flights", "hourly"]).values():
            if isinstance(extent, SluiceError):
                raise extent
    backfill(site, spec)
    with closing(KafkaProducer(enable_idempotence=True, max_block_ms=5_000, **site.arguments(spec))) as producer:
        producer.send("hourly", b"{}").get(10)


def backfill(site: Site, spec: PrincipalSpec) -> None:
    """Read everything that there is."""
    with site.administration(spec) as cluster:
        reader = KafkaPythonReader(cluster, "flights")
        ends = reader.ends()
        assert len(list(reader.read(reader.beginnings(), ends))) == sum(ends.values()) > 0


def watcher(site: Site, spec: PrincipalSpec) -> None:
    """Ask for offsets, and show a stream's position in its groups."""
    with site.administration(spec) as cluster:
        for extent in cluster.extents(["flights", "planned"]).values():
            if isinstance(extent, SluiceError):
                raise extent
        for group in site.catalog.pipelines["departures"].mirror_groups.values():
            cluster.set_group(group, {"flights/0": 0})


def planner(site: Site, spec: PrincipalSpec) -> None:
    """Create a topic by a plan, and let it grow with another configuration by the next."""
    recreate(site, None)
    shape = site.catalog.topics["planned"]
    larger = shape.model_copy(update={"partitions": 3, "configs": {"segment.bytes": "1048576"}})
    with site.administration(spec) as cluster:
        for wanted in ({"planned": shape}, {"planned": larger}):
            todo = current_plan(wanted, cluster, default_replication=1)
            assert todo
            apply_topics(wanted, cluster, default_replication=1, approval=TopicApproval(todo.id))


def planner_removal(site: Site, spec: PrincipalSpec) -> None:
    recreate(site, TopicCreation("planned", 1, 1))
    with closing(KafkaAdminClient(**site.arguments(spec))) as client:
        client.delete_topics(["planned"])


def planner_placement(site: Site, spec: PrincipalSpec) -> None:
    """Move replicas under a throttle and elect leaders, as far as one broker has room for that."""
    recreate(site, TopicCreation("planned", 1, 1))
    slower = {"leader.replication.throttled.rate": (AlterConfigOp.SET, "1000000")}
    listed = {"leader.replication.throttled.replicas": (AlterConfigOp.SET, "0:1")}
    with site.administration(spec) as cluster, closing(KafkaAdminClient(**site.arguments(spec))) as client:
        assert cluster.describe(["planned"])["planned"].partitions == 1
        for kind, name, configs in (("BROKER", "1", slower), ("TOPIC", "planned", listed)):
            resource = ConfigResource(ConfigResourceType[kind], name, configs)
            answer = client.alter_configs([resource], raise_on_unknown=False, incremental=True)
            if "OK" not in str(answer):
                raise KafkaError(answer)
        client.alter_partition_reassignments({TopicPartition("planned", 0): [1]})
        client.list_partition_reassignments()
        answer = client.elect_leaders(0, {"planned": [0]}, raise_errors=False)
        if "AUTHORIZATION" in str(answer).upper():
            raise KafkaError(answer)


def planner_access(site: Site, spec: PrincipalSpec) -> None:
    """Give rights and passwords, look at them, and take them away."""
    number = next(site.numbers)
    given = Acl(f"User:temp-{number}", next(iter(acls(site, "feed"))).right, HOST)
    credential = Credential(f"temp-{number}", Mechanism.SHA_512, 4096)
    with KafkaPythonAccess([site.broker.bootstrap], site.client(spec), patience_seconds=10) as access:
        access.grant([given])
        access.set_password(credential, PASSWORD)
        assert given in access.acls()
        assert credential in access.credentials()
        access.revoke([given])
        access.drop_password(credential.user, credential.mechanism)


WORK: Mapping[str, Callable[[Site, PrincipalSpec], None]] = {
    "feed": feed,
    "stream": stream,
    "backfill": backfill,
    "watcher": watcher,
    "planner": planner,
    "planner_removal": planner_removal,
    "planner_placement": planner_placement,
    "planner_access": planner_access,
}


def recreate(site: Site, creation: TopicCreation | None) -> None:
    """Let the topic `planned` be new, or not be there."""
    with closing(KafkaAdminClient(bootstrap_servers=site.broker.everything)) as client, suppress(KafkaError):
        client.delete_topics(["planned"])
    with KafkaPythonAdministration([site.broker.everything]) as cluster:
        if creation is not None:
            cluster.create([creation])


def acls(site: Site, name: str) -> frozenset[Acl]:
    return declared(site.catalog.access[name], site.catalog)


def refusal(site: Site, work: str, name: str) -> str:
    """Return why Kafka refused somebody's work; empty if it did not."""
    recreate(site, TopicCreation("planned", 1, 1))
    try:
        WORK[work](site, site.catalog.access[name])
    except (SluiceError, KafkaError) as error:
        causes = [error, error.__cause__, error.__context__]
        text = " ".join(f"{type(cause).__name__} {cause}" for cause in causes if cause is not None)
        assert "uthoriz" in text or "AUTHORIZATION" in text, f"it failed for another reason: {text}"
        return text
    return ""


@pytest.mark.parametrize("name", WORK)
def test_a_role_can_do_its_work_and_none_of_its_rights_can_be_spared(site: Site, name: str) -> None:
    assert not refusal(site, name, name)
    with KafkaPythonAccess([site.broker.everything]) as access:
        for acl in sorted(acls(site, name)):
            access.revoke([acl])
            try:
                assert refusal(site, name, name), f"it worked without: {acl}"
            finally:
                access.grant([acl])
    assert not refusal(site, name, name)


@pytest.mark.parametrize("name", WORK)
def test_a_role_does_the_work_of_another_only_where_its_own_rights_imply_that(site: Site, name: str) -> None:
    own = acls(site, name)
    expected = {
        work: all(
            allows(own, f"User:sluice-{name}", a.right.operation, a.right.resource, HOST) for a in acls(site, work)
        )
        for work in WORK
    }
    assert not all(expected.values()), "there is work that it cannot do"
    assert {work: not refusal(site, work, name) for work in WORK} == expected
