"""One plan of topics and access: one id, one word for all of it, and finished wherever it was cut off."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.airflow.topics.topic_approval import Answer, page_of
from sluice.errors import NotReadyError, RefusedError
from sluice.provisioning.access.acl import Acl
from sluice.provisioning.access.administration import Credential
from sluice.provisioning.access_scope import AccessScope
from sluice.provisioning.apply import apply, current_plan
from sluice.provisioning.plans.approval import Approval, PlanCommands
from sluice.provisioning.plans.changes import ChangeKind
from sluice.provisioning.plans.declared import Declared
from sluice.provisioning.plans.plan import Plan, as_dict
from sluice.specs.model.access import Mechanism, PrincipalSpec, Role
from sluice.specs.model.model import TopicSpec
from sluice.topics.administration import TopicCreation
from tests.twins.access import InMemoryAccess
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.unit.provisioning.access.catalogs import catalog, principal, topic, with_password

FEED = with_password(Role.FEED)
OPEN = principal(Role.BACKFILL, hosts=("*",), widens=["host"])


class Calls:
    """What was done, in order; it dies before a change once the steps are used up."""

    def __init__(self, steps: int = 10**6) -> None:
        self.left = steps
        self.done: list[str] = []

    def step(self, what: str) -> None:
        if not self.left:
            raise CutError
        self.left -= 1
        self.done.append(what)


class CutError(Exception):
    """The process is gone."""


class Topics(InMemoryKafkaAdministration):
    calls: Calls

    def create(self, creations: Collection[TopicCreation]) -> None:
        for creation in creations:
            self.calls.step(f"create {creation.name}")
            super().create([creation])

    def grow(self, topic: str, partitions: int, assignment: Sequence[tuple[int, ...]] = ()) -> None:
        self.calls.step(f"grow {topic}")
        super().grow(topic, partitions, assignment)

    def set_configs(self, topic: str, configs: Mapping[str, str | None]) -> None:
        self.calls.step(f"configure {topic}")
        super().set_configs(topic, configs)

    def delete(self, topics: Collection[str]) -> None:
        for name in topics:
            self.calls.step(f"delete {name}")
            super().delete([name])


class Users(InMemoryAccess):
    calls: Calls

    def grant(self, acls: Collection[Acl]) -> None:
        for acl in acls:
            self.calls.step("grant")
            super().grant([acl])

    def revoke(self, acls: Collection[Acl]) -> None:
        for acl in acls:
            self.calls.step("revoke")
            super().revoke([acl])

    def set_password(self, credential: Credential, password: str) -> None:
        self.calls.step("set password")
        super().set_password(credential, password)

    def drop_password(self, user: str, mechanism: Mechanism) -> None:
        self.calls.step("drop password")
        super().drop_password(user, mechanism)


class Cluster:
    """Both sides of a cluster, and what is declared of it."""

    def __init__(self) -> None:
        self.topics, self.users, self.calls = Topics(), Users(), Calls()
        self.topics.calls = self.users.calls = self.calls

    def plan(self, declared: Declared, *principals: PrincipalSpec) -> Plan:
        return current_plan(declared, self.topics, self.access(*principals))

    def access(self, *principals: PrincipalSpec) -> AccessScope:
        return AccessScope(catalog(*principals), self.users, lambda variable: f"of {variable}")

    def apply(self, declared: Declared, *principals: PrincipalSpec, approval: Approval | None = None) -> Plan:
        done, _ = apply(declared, self.topics, self.access(*principals), approval=approval)
        return done

    def approved(self, declared: Declared, *principals: PrincipalSpec) -> Plan:
        todo = self.plan(declared, *principals)
        return self.apply(
            declared, *principals, approval=Approval(todo.id, frozenset(todo.losing), frozenset(todo.widening))
        )


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def of(**partitions: int) -> Declared:
    return Declared({name: wanted(name, count) for name, count in partitions.items()}, absent=frozenset({"old"}))


def wanted(name: str, partitions: int, days: int = 7) -> TopicSpec:
    return topic(name, "shop").model_copy(update={"partitions": partitions, "retention": timedelta(days=days)})


def test_what_is_safe_of_both_is_applied_without_a_word_and_a_second_time_there_is_nothing(cluster: Cluster) -> None:
    done = cluster.apply(of(orders=2), FEED)
    assert [change.subject for change in done.changes] == ["orders", *["User:feed"] * (len(done.changes) - 1)]
    assert cluster.topics.topics["orders"].partitions == 2
    assert cluster.users.entries
    assert not cluster.apply(of(orders=2), FEED)


def test_its_id_stands_for_both_and_without_principals_it_is_the_topics_own(cluster: Cluster) -> None:
    found = cluster.plan(of(orders=2), FEED)
    assert found.id != cluster.plan(of(orders=3), FEED).id
    assert found.id != cluster.plan(of(orders=2)).id
    alone = current_plan(of(orders=2), cluster.topics)
    assert alone.id == current_plan(of(orders=2), cluster.topics).id
    assert alone.access is None
    assert as_dict(alone)["access"] is None
    assert {item["principal"] for item in as_dict(found)["access"]["items"]} == {"User:feed"}


def test_rights_are_given_first_and_taken_last(cluster: Cluster) -> None:
    cluster.approved(of(orders=2), FEED)
    cluster.topics.create([TopicCreation("old", 1, 1)])
    cluster.calls.done.clear()
    other = with_password(Role.WATCHER, "other")
    cluster.approved(of(orders=2, weather=1), FEED.model_copy(update={"state": "absent"}), other)
    done = [call.partition(" ")[0] for call in cluster.calls.done]
    assert done.index("create") > max(number for number, call in enumerate(done) if call in {"grant", "set"})
    assert done.index("delete") < min(number for number, call in enumerate(done) if call in {"revoke", "drop"})


def test_one_word_is_needed_for_all_and_without_it_nothing_is_done(cluster: Cluster) -> None:
    cluster.approved(of(orders=2), FEED)
    before = list(cluster.calls.done)
    grown = of(orders=4)
    with pytest.raises(RefusedError, match="have to be approved, so nothing was applied: orders: partitions"):
        cluster.apply(grown, with_password(Role.FEED, hosts=("10.0.0.8",)))
    with pytest.raises(RefusedError, match=r"opens something by User:backfill, which the approval does not name"):
        cluster.apply(grown, FEED, OPEN, approval=Approval(cluster.plan(grown, FEED, OPEN).id))
    assert cluster.calls.done == before
    found = cluster.plan(grown, FEED, OPEN)
    assert PlanCommands().apply(found) == f"`sluice topics apply --plan {found.id} --widening 'User:backfill'`"
    cluster.apply(grown, FEED, OPEN, approval=Approval(found.id, widening=frozenset({"User:backfill"})))
    assert not cluster.plan(grown, FEED, OPEN).differences


def test_a_change_of_either_makes_an_old_plan_void(cluster: Cluster) -> None:
    cluster.approved(of(orders=2), FEED)
    grown = of(orders=4)
    read = cluster.plan(grown, FEED)
    cluster.users.entries.pop()
    with pytest.raises(RefusedError, match="is out of date, so nothing was applied"):
        cluster.apply(grown, FEED, approval=Approval(read.id))


def test_a_password_that_is_missing_is_found_before_anything_is_changed(cluster: Cluster) -> None:
    def missing(variable: str) -> str:
        raise NotReadyError(f"The variable {variable} is not set.")

    with pytest.raises(NotReadyError, match="Nothing was applied: The variable SLUICE_PASSWORD_FEED is not set"):
        apply(of(orders=2), cluster.topics, AccessScope(catalog(FEED), cluster.users, missing))
    assert cluster.calls.done == []


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 30), st.booleans())
def test_cut_off_anywhere_it_is_finished_by_the_next(steps: int, opens: bool) -> None:
    cluster = Cluster()
    cluster.approved(of(orders=2), FEED, with_password(Role.WATCHER))
    cluster.topics.create([TopicCreation("old", 1, 1)])
    principals = [with_password(Role.FEED, hosts=("10.0.0.8",)), with_password(Role.BACKFILL), *([OPEN] * opens)]
    if opens:
        principals[1:2] = []  # of one name, one spec
    kept = set(cluster.users.entries)
    cluster.calls.left = steps
    try:
        cluster.approved(of(orders=4, weather=2), *principals)
    except CutError:
        cluster.calls.left = 10**6
        left = cluster.plan(of(orders=4, weather=2), *principals)
        taken = kept - cluster.users.entries
        assert not taken or all(
            change.kind is ChangeKind.REVOKE or "password" in change.value for change in left.changes
        )
        cluster.approved(of(orders=4, weather=2), *principals)
    assert not cluster.plan(of(orders=4, weather=2), *principals)


def test_the_page_asks_for_the_names_by_whom_something_is_opened(cluster: Cluster) -> None:
    found = cluster.plan(of(orders=2), OPEN)
    page = page_of(found, {})
    assert page is not None
    assert page["widening"] == ["User:backfill"]
    assert "**User:backfill**" in page["body"]
    assert "changes to topics and access. " in page["body"]
    assert Answer(found.id, "", "ada", " User:backfill,").approval(found).widening == {"User:backfill"}
    for typed in ("", "backfill", "User:backfill2", "User:backfill User:x"):
        with pytest.raises(RefusedError, match="something is opened by User:backfill, so 'User:backfill' was expected"):
            Answer(found.id, "", "ada", typed).approval(found)
