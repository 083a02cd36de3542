"""Each role on a broker that refuses what is not granted: its rights suffice, and not one of them can be spared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer
from kafka.errors import KafkaError

from sluice.errors import SluiceError
from sluice.kafka.access import KafkaPythonAccess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.client.connection import client_arguments
from sluice.kafka.feed import open_feed
from sluice.kafka.live_records import KafkaLiveRecords
from sluice.kafka.newest_keys import KafkaPythonKeyReader
from sluice.kafka.reader import KafkaPythonReader
from sluice.kafka.stored_records import KafkaPythonStoredRecords
from sluice.provisioning.access.acl import Acl
from sluice.provisioning.access.administration import Credential
from sluice.provisioning.access.roles import declared
from sluice.provisioning.access_scope import AccessScope
from sluice.provisioning.apply import apply as apply_topics
from sluice.provisioning.apply import current_plan
from sluice.provisioning.plans.approval import Approval
from sluice.provisioning.plans.declared import Declared
from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.load import load_catalog
from sluice.specs.model.access import Duty, Mechanism, PrincipalSpec, Role, Scram
from sluice.specs.model.outputs import TopicOutput
from sluice.specs.model.topic_shape import AbsentTopic, TopicShape
from sluice.topics.administration import TopicCreation
from sluice.topics.replica_administration import Throttle
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
    principal(Role.SERVER),
    principal(Role.PLANNER),
    principal(Role.PLANNER, duties=(Duty.SAMPLING,)),
    principal(Role.PLANNER, duties=(Duty.REMOVAL,)),
    principal(Role.PLANNER, duties=(Duty.PLACEMENT,)),
    principal(Role.PLANNER, duties=(Duty.ACCESS,)),
]


def shipped_with_more() -> Catalog:
    """Return the shipped specs, with a topic output, a mirrored pipeline, two more topics, and the principals."""
    catalog = load_catalog(settings().home / "include")
    departures = catalog.pipelines["departures"]
    # By this rule replicas may move at any time, so a plan checks moves and disks.
    flights = catalog.topics["flights"].model_copy(update={"placement": "balanced-leaders"})
    hourly = TopicOutput(kind="topic", topic="hourly", keys=("hour",), create=TopicShape(partitions=1))
    mirrored = departures.model_copy(update={"outputs": (*departures.outputs, hourly), "mirror_group": "shown"})
    raw = flights.raw.model_copy(update={"table": "other_raw", "driver": "other"})
    return replace(
        catalog,
        topics={"flights": flights, "other": flights.model_copy(update={"name": "other", "raw": raw})},
        absent={"old": AbsentTopic(name="old", state="absent")},
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

    @property
    def whole(self) -> Declared:
        """What is declared of topics."""
        return Declared(self.catalog.kafka_topics(), absent=frozenset(self.catalog.absent))

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
        with KafkaPythonAccess([broker.everything]) as access:
            scope = AccessScope(catalog, access, lambda _: PASSWORD)
            scope.apply(Approval(scope.plan().id))
            assert not scope.plan(), "a second plan has nothing to do"
        site = Site(broker, catalog, folder, count())
        provide(site)
        yield site


def feed(site: Site, spec: PrincipalSpec) -> None:
    """Send a day, as a sender that has lost its notes: it reads first what there is."""
    number = next(site.numbers)
    day = date(2013, 1, 1) + timedelta(days=number)
    topic, pipelines = site.catalog.topics["flights"], site.catalog.pipelines.values()
    where = {"bootstrap": [site.broker.bootstrap], "client": site.client(spec), "include": settings().home / "include"}
    with open_feed(
        site.catalog.feeds["flights"], topic, pipelines, folder=site.folder / f"{number}", **where
    ) as sender:  # type: ignore[arg-type]
        assert sender.send(day, day).sent > 0


def stream(site: Site, spec: PrincipalSpec) -> None:
    """Check the topics, read the source and write the output, as a driver does; Spark itself is another test's."""
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
        extent = reader.extent()
        assert len(list(reader.read(extent.beginnings, extent.ends))) == sum(extent.ends.values()) > 0
    with KafkaPythonStoredRecords([site.broker.bootstrap], site.client(spec), "flights", patience_seconds=10) as stored:
        assert len(list(stored.records({p: [span] for p, span in stored.held().ranges.items()}))) > 0


def watcher(site: Site, spec: PrincipalSpec) -> None:
    """Ask for offsets, and show a stream's position in its groups."""
    with site.administration(spec) as cluster:
        for extent in cluster.extents(["flights", "other"]).values():
            if isinstance(extent, SluiceError):
                raise extent
        for _, group in site.catalog.mirrored:
            cluster.set_group(group, {"flights/0": 0})


def server(site: Site, spec: PrincipalSpec) -> None:
    """Follow a topic output from its beginning."""
    with closing(KafkaLiveRecords([site.broker.bootstrap], site.client(spec), "hourly")) as source:
        assert source.read(1) is not None


def planner(site: Site, spec: PrincipalSpec) -> None:
    """Create topics by a plan, and let them grow with another configuration by the next; one is to be deleted."""
    shapes = site.catalog.kafka_topics()
    for name in shapes:
        recreate(site, name, None)
    recreate(site, "old", TopicCreation("old", 1, 1))
    configs, more = {"segment.bytes": "1048576"}, {name: shape.partitions + 1 for name, shape in shapes.items()}
    larger = {n: s.model_copy(update={"partitions": more[n], "configs": configs}) for n, s in shapes.items()}
    with site.administration(spec) as cluster:
        assert "old" in current_plan(site.whole, cluster).losing
        for wanted in (Declared(shapes), Declared(larger)):
            todo = current_plan(wanted, cluster)
            assert todo
            apply_topics(wanted, cluster, approval=Approval(todo.id))


def planner_sampling(site: Site, spec: PrincipalSpec) -> None:
    """Plan, and read the keys of every topic's newest records."""
    recreate(site, "old", TopicCreation("old", 1, 1))
    with closing(KafkaProducer(bootstrap_servers=site.broker.everything)) as producer:
        for topic in site.catalog.kafka_topics():
            producer.send(topic, b"{}", key=b"k").get(30)
    with site.administration(spec) as cluster:
        assert "old" in current_plan(site.whole, cluster).losing
        for topic in site.catalog.kafka_topics():
            sample = KafkaPythonKeyReader(cluster).newest_keys(topic, 10)
            assert any(b"k" in keys for keys in sample.keys.values())


def planner_removal(site: Site, spec: PrincipalSpec) -> None:
    """Delete the topic that is declared absent, by a plan."""
    recreate(site, "old", TopicCreation("old", 1, 1))
    with site.administration(spec) as cluster:
        todo = current_plan(site.whole, cluster)
        assert [item.subject for item in todo.changes] == ["old"]
        apply_topics(site.whole, cluster, approval=Approval(todo.id, frozenset({"old"})))


def planner_placement(site: Site, spec: PrincipalSpec) -> None:
    """Move replicas under a throttle and elect leaders, as far as one broker has room for that."""
    recreate(site, "old", TopicCreation("old", 1, 1))
    with site.administration(spec) as cluster:
        assert "old" in current_plan(site.whole, cluster).losing
        for topic in site.catalog.kafka_topics():
            here = {(topic, 0): (1,)}
            cluster.throttle(Throttle(1_000_000, here, here))
            cluster.reassign(here)
            assert cluster.sizes([topic])
            cluster.elect(here)
            cluster.unthrottle([topic])


def planner_access(site: Site, spec: PrincipalSpec) -> None:
    """Give rights and passwords, check them, and take them away."""
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
    "server": server,
    "planner": planner,
    "planner_sampling": planner_sampling,
    "planner_removal": planner_removal,
    "planner_placement": planner_placement,
    "planner_access": planner_access,
}


def recreate(site: Site, name: str, creation: TopicCreation | None) -> None:
    """Let a topic be new, or not be there."""
    with KafkaPythonAdministration([site.broker.everything]) as cluster:
        cluster.delete([name])
        if creation is not None:
            cluster.create([creation])


def provide(site: Site) -> None:
    """Let the topics be as they are declared, with a record to read."""
    for name, shape in site.catalog.kafka_topics().items():
        recreate(
            site,
            name,
            TopicCreation(
                name, shape.partitions, 1, {k: v for k, v in shape.wanted_configs().items() if v is not None}
            ),
        )
    with closing(KafkaProducer(bootstrap_servers=site.broker.everything)) as producer:
        producer.send("flights", b"{}").get(30)


def acls(site: Site, name: str) -> frozenset[Acl]:
    return declared(site.catalog.access[name], site.catalog)


def refusal(site: Site, work: str, name: str) -> str:
    """Return why Kafka refused somebody's work; empty if it did not."""
    try:
        WORK[work](site, site.catalog.access[name])
    except (SluiceError, KafkaError) as error:
        causes = [error, error.__cause__, error.__context__]
        text = " ".join(f"{type(cause).__name__} {cause}" for cause in causes if cause is not None)
        assert "uthoriz" in text or "AUTHORIZATION" in text, f"it failed for another reason: {text}"
        return text
    finally:
        if work == "planner":
            provide(site)
    return ""


SAMPLE = {"stream", "server"}
"""What `make test` tries: reading and writing, and reading alone. The others take a minute."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in SAMPLE else pytest.mark.verify) for name in WORK]
)
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


@pytest.mark.verify
@pytest.mark.parametrize("name", WORK)
def test_a_role_does_the_work_of_another_only_where_its_own_rights_imply_that(site: Site, name: str) -> None:
    own, user = acls(site, name), site.catalog.access[name].principal
    rights = {work: [acl.right for acl in acls(site, work)] for work in WORK}
    expected = {
        work: all(allows(own, user, right.operation, right.resource, HOST) for right in rights[work]) for work in WORK
    }
    assert not all(expected.values()), "there is work that it cannot do"
    assert {work: not refusal(site, work, name) for work in WORK} == expected


def test_configurations_that_a_role_may_not_see_are_left_out(site: Site) -> None:
    for name, seen in (("stream", set[str]()), ("planner", {"flights"})):
        with site.administration(site.catalog.access[name]) as cluster:
            assert set(cluster.configs_in_force(["flights"])) == seen
