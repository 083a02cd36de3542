"""What each role needs by the specs, and that nothing of it is implied by the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.provisioning.access.acl import Acl, Resource, Right, kafka_address, least
from sluice.provisioning.access.roles import declared, needed
from sluice.specs.model.access import Duty, Operation, Pattern, ResourceKind, Role
from tests.twins.access import allows
from tests.unit.provisioning.access.catalogs import catalog, principal, said

TOPICS = {"orders", "weather", "hourly", "refused"}
LOOKING_AT_OLD = {"describe topic old", "describe_configs topic old"}


@pytest.mark.parametrize(
    ("role", "rights"),
    [
        (Role.FEED, {"write topic orders", "read topic orders", "write topic weather", "read topic weather"}),
        (Role.STREAM, {"read topic orders", "read topic weather", "write topic hourly", "write topic refused"}),
        (Role.BACKFILL, {"read topic orders"}),
        (Role.WATCHER, {"read topic orders", "describe topic weather", "read group shown", "read group shown_live"}),
        (Role.SERVER, {"read topic hourly"}),
        (
            Role.PLANNER,
            {f"{verb} topic {t}" for t in TOPICS for verb in ("create", "alter", "alter_configs")}
            | LOOKING_AT_OLD
            | {"describe the cluster"},
        ),
    ],
)
def test_a_role_needs_this_for_everything_that_is_declared(role: Role, rights: set[str]) -> None:
    assert said(needed(principal(role), catalog())) == rights


@pytest.mark.parametrize(
    ("role", "scope", "rights"),
    [
        (Role.FEED, "sensors", {"write topic weather", "read topic weather"}),
        (Role.STREAM, "sky", {"read topic weather", "write topic refused"}),
        (Role.STREAM, "shop", {"read topic orders", "write topic hourly"}),
        (Role.BACKFILL, "sales", {"read topic orders"}),
        (Role.WATCHER, "weather", {"describe topic weather"}),
        (Role.SERVER, "hourly", {"read topic hourly"}),
    ],
)
def test_a_scope_leaves_out_the_rest(role: Role, scope: str, rights: set[str]) -> None:
    assert said(needed(principal(role, scope=(scope,)), catalog())) == rights


@pytest.mark.parametrize(
    ("duty", "rights"),
    [
        (
            Duty.REMOVAL,
            {f"{verb} topic {topic}" for topic in TOPICS for verb in ("describe", "describe_configs")}
            | {"delete topic old", "describe_configs topic old", "describe the cluster"},
        ),
        (
            Duty.SAMPLING,
            {f"{verb} topic {topic}" for topic in TOPICS for verb in ("read", "describe_configs")}
            | LOOKING_AT_OLD
            | {"describe the cluster"},
        ),
        (
            Duty.PLACEMENT,
            {f"{verb} topic {topic}" for topic in TOPICS for verb in ("describe", "alter_configs")}
            | LOOKING_AT_OLD
            | {"alter the cluster", "alter_configs the cluster"},
        ),
        (Duty.ACCESS, {"alter the cluster"}),
    ],
)
def test_a_planner_has_the_rights_of_its_duties(duty: Duty, rights: set[str]) -> None:
    assert said(needed(principal(Role.PLANNER, duties=(duty,)), catalog())) == rights


def test_what_two_duties_share_is_asked_for_once() -> None:
    both = said(needed(principal(Role.PLANNER, duties=tuple(Duty)), catalog()))
    assert "describe topic orders" not in both, "who may alter may describe"
    assert "delete topic orders" not in both, "only what is declared absent is deleted"


def test_every_host_gets_its_own_entries_and_addresses_are_spelt_as_the_broker_does() -> None:
    spec = principal(Role.BACKFILL, hosts=("10.0.0.7", "::1"))
    assert {acl.host for acl in needed(spec, catalog())} == {"10.0.0.7", "0:0:0:0:0:0:0:1"}
    assert kafka_address("2001:db8::00ff") == "2001:db8:0:0:0:0:0:ff"
    assert kafka_address("*") == "*"


def test_what_goes_beyond_the_role_is_added_and_an_absent_principal_has_nothing() -> None:
    extra = [
        {"resource": "group", "name": "shop-", "pattern": Pattern.PREFIXED, "operation": Operation.READ},
        {"resource": "cluster", "operation": Operation.IDEMPOTENT_WRITE},
    ]
    spec = principal(Role.BACKFILL, extra=extra)
    assert said(declared(spec, catalog()) - needed(spec, catalog())) == {
        "read every group that begins with shop-",
        "idempotent_write the cluster",
    }
    assert declared(principal(Role.BACKFILL, extra=extra, state="absent"), catalog()) == frozenset()


rights = st.frozensets(
    st.builds(
        Right,
        st.builds(Resource, st.sampled_from([ResourceKind.TOPIC, ResourceKind.GROUP]), st.sampled_from(["a", "b"])),
        st.sampled_from([o for o in Operation if o is not Operation.ALL]),
    ),
    max_size=12,
)


def permitted(some: frozenset[Right]) -> set[Right]:
    """Return everything that Kafka lets somebody do who has these rights."""
    acls = [Acl("User:u", right, "h") for right in some]
    asked = {Right(right.resource, operation) for right in some for operation in Operation}
    return {right for right in asked if allows(acls, "User:u", right.operation, right.resource, "h")}


@given(rights)
def test_the_least_rights_permit_the_same_and_each_of_them_counts(some: frozenset[Right]) -> None:
    few = least(some)
    assert few <= some
    assert permitted(few) == permitted(some)
    assert all(permitted(few - {right}) < permitted(few) for right in few)


@pytest.mark.parametrize("one", list(Operation))
@pytest.mark.parametrize("other", list(Operation))
def test_a_pair_of_rights_loses_exactly_what_kafka_implies(one: Operation, other: Operation) -> None:
    topic = Resource(ResourceKind.TOPIC, "a")
    pair = frozenset({Right(topic, one), Right(topic, other)})
    if Operation.ALL not in (one, other):  # nothing of a role's is everything
        assert permitted(least(pair)) == permitted(pair)
        assert all(permitted(least(pair) - {right}) < permitted(pair) for right in least(pair))
