"""Plans of access: what differs, what it risks, and that applying it leaves nothing to do and nobody else changed."""

from __future__ import annotations

import json
import random as chance
from collections.abc import Collection
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.errors import CorruptionError, NotReadyError, RefusedError, SpecError
from sluice.provisioning.access.acl import CLUSTER, Acl, Resource, Right
from sluice.provisioning.access.administration import Credential, UnknownRight
from sluice.provisioning.access.roles import declared
from sluice.provisioning.access_scope import AccessScope, Passwords
from sluice.provisioning.plans.access_plan import ActualAccess, plan_access, revoke
from sluice.provisioning.plans.approval import Approval
from sluice.provisioning.plans.changes import ChangeKind, Kept, Risk
from sluice.provisioning.plans.plan import Plan, access_as_dict
from sluice.specs.model.access import ANONYMOUS, ANYTHING, Duty, Mechanism, Operation, PrincipalSpec, ResourceKind, Role
from tests.twins.access import InMemoryAccess
from tests.twins.clock import ManualClock
from tests.unit.provisioning.access.catalogs import catalog, principal, with_password

ORDERS = Resource(ResourceKind.TOPIC, "orders")
READ = Right(ORDERS, Operation.READ)


def password(variable: str) -> str:
    return f"of {variable}"


def scope(
    cluster: InMemoryAccess, *specs: PrincipalSpec, rotate: Collection[str] = (), passwords: Passwords = password
) -> AccessScope:
    return AccessScope(catalog(*specs), cluster, passwords, tuple(rotate), clock=ManualClock())


def plan(cluster: InMemoryAccess, *specs: PrincipalSpec, rotate: Collection[str] = ()) -> Plan:
    return scope(cluster, *specs, rotate=rotate).plan()


def applied(cluster: InMemoryAccess, *specs: PrincipalSpec, rotate: Collection[str] = ()) -> Plan:
    """Apply what there is to do on the word of somebody who approves all of it."""
    todo = plan(cluster, *specs, rotate=rotate)
    approval = Approval(todo.id, widening=frozenset(todo.widening))
    return scope(cluster, *specs, rotate=rotate).apply(approval)


def test_what_a_role_needs_is_safe_and_so_is_a_first_password() -> None:
    found = plan_access(catalog(with_password(Role.BACKFILL)), ActualAccess())
    assert [(item.kind, item.risk) for item in found.changes] == [
        (ChangeKind.SET_PASSWORD, Risk.SAFE),
        (ChangeKind.GRANT, Risk.SAFE),
    ]
    assert [str(item) for item in found.changes] == [
        "User:backfill: password is absent, declared SCRAM-SHA-512, 8192 iterations, from SLUICE_PASSWORD_BACKFILL",
        "User:backfill: read topic orders from 10.0.0.7 is absent, declared allowed",
    ]
    assert found.guarded == ()


@pytest.mark.parametrize(
    ("more", "risk", "why"),
    [
        ({"extra": [{"resource": "topic", "name": "x", "operation": Operation.READ}]}, Risk.APPROVAL, "does not need"),
        ({"extra": [{"resource": "topic", "name": "orders", "operation": Operation.READ}]}, Risk.SAFE, "needs it"),
        ({"extra": [{"resource": "cluster", "operation": Operation.ALTER}]}, Risk.APPROVAL, "give itself any right"),
        ({"hosts": ("*",), "widens": ["host"]}, Risk.WIDENING, "from every host"),
        ({"user": "*", "widens": ["principal"]}, Risk.WIDENING, "everybody who can reach"),
        ({"user": "ANONYMOUS", "widens": ["principal"]}, Risk.WIDENING, "everybody who can reach"),
        (
            {"extra": [{"resource": "topic", "name": "*", "operation": Operation.READ}], "widens": ["resource"]},
            Risk.WIDENING,
            "everything of its kind",
        ),
    ],
)
def test_what_a_right_risks(more: dict[str, object], risk: Risk, why: str) -> None:
    found = plan_access(catalog(principal(Role.BACKFILL, **more)), ActualAccess())
    riskiest = max(found.changes, key=lambda item: list(Risk).index(item.risk))
    assert riskiest.risk is risk
    assert why in riskiest.why


@pytest.mark.parametrize("duty", [Duty.ACCESS, Duty.PLACEMENT])
def test_a_role_that_can_change_the_cluster_needs_approval_all_the_same(duty: Duty) -> None:
    found = plan_access(catalog(principal(Role.PLANNER, duties=(duty,))), ActualAccess())
    assert {item.value for item in found.guarded} >= {"alter the cluster from 10.0.0.7"}


def test_a_right_that_nobody_declares_is_revoked_of_declared_principals_only() -> None:
    own, other = Acl("User:backfill", Right(ORDERS, Operation.WRITE), "*"), Acl("User:somebody", READ, "*")
    denial = Acl("User:backfill", READ, "10.6.6.6", denied=True)
    found = plan_access(catalog(principal(Role.BACKFILL)), ActualAccess(frozenset({own, other, denial})))
    (revoked,) = (item for item in found.changes if item.kind is ChangeKind.REVOKE)
    assert (revoked.detail, revoked.risk) == (own, Risk.APPROVAL)
    assert found.kept == (
        Kept("User:backfill", "read topic orders from 10.6.6.6", "denied"),
        Kept("User:somebody", "read topic orders from any host", "allowed"),
    )


def test_a_right_of_an_unknown_kind_stays_and_is_told_whoever_has_it() -> None:
    cluster, spec = InMemoryAccess(), principal(Role.BACKFILL)
    cluster.strange = {UnknownRight(f"User:{user}", "sender from * (operation 15)") for user in ("backfill", "eve")}
    applied(cluster, spec)
    found = plan(cluster, spec)
    assert not found
    assert [each.subject for each in found.kept] == ["User:backfill", "User:eve"]
    assert "sender from * (operation 15) (allowed) is of a kind that is not known here" in str(found.kept[0])


def test_a_password_is_set_anew_if_its_hash_shall_be_another_or_somebody_asks_for_it() -> None:
    cluster, spec = InMemoryAccess(), with_password(Role.BACKFILL)
    applied(cluster, spec)
    assert not plan(cluster, spec)
    assert spec.scram is not None
    stronger = spec.model_copy(update={"scram": spec.scram.model_copy(update={"iterations": 16384})})
    for declared_as, rotate in ((stronger, ()), (spec, ("backfill",))):
        (item,) = plan(cluster, declared_as, rotate=rotate).changes
        assert item.kind is ChangeKind.SET_PASSWORD
        assert item.risk is Risk.APPROVAL


def test_a_rotation_takes_the_password_of_the_day() -> None:
    cluster, spec = InMemoryAccess(), with_password(Role.BACKFILL)
    applied(cluster, spec)
    todo = plan(cluster, spec, rotate=["backfill"])
    with pytest.raises(RefusedError, match=rf"--rotate backfill --plan {todo.id}"):
        scope(cluster, spec, rotate=["backfill"], passwords=lambda _: "new").apply()
    scope(cluster, spec, rotate=["backfill"], passwords=lambda _: "new").apply(Approval(todo.id))
    assert cluster.passwords["backfill", Mechanism.SHA_512] == (8192, "new")


def test_only_a_declared_password_is_rotated() -> None:
    with pytest.raises(SpecError, match=r"again for backfill, ghost, and no spec"):
        plan_access(catalog(principal(Role.BACKFILL)), ActualAccess(), rotate=["ghost", "backfill"])


def test_another_mechanism_is_another_way_in_and_a_password_that_no_spec_mentions_stays() -> None:
    weak = Credential("backfill", Mechanism.SHA_256, 4096)
    (dropped,) = (
        item
        for item in plan_access(
            catalog(with_password(Role.BACKFILL)), ActualAccess(credentials=frozenset({weak}))
        ).changes
        if item.kind is ChangeKind.DROP_PASSWORD
    )
    assert (dropped.detail, dropped.risk) == (weak, Risk.APPROVAL)
    found = plan_access(catalog(principal(Role.BACKFILL)), ActualAccess(credentials=frozenset({weak})))
    assert found.kept == (Kept("User:backfill", "password", "SCRAM-SHA-256, 4096 iterations"),)


def test_an_absent_principal_loses_rights_and_passwords() -> None:
    cluster = InMemoryAccess()
    applied(cluster, with_password(Role.FEED), with_password(Role.BACKFILL))
    applied(cluster, with_password(Role.FEED), with_password(Role.BACKFILL, state="absent"))
    assert {acl.principal for acl in cluster.entries} == {"User:feed"}
    assert {user for user, _ in cluster.passwords} == {"feed"}


def test_nothing_is_applied_that_has_to_be_approved_and_is_not() -> None:
    cluster, wide = InMemoryAccess(), principal(Role.BACKFILL, hosts=("*",), widens=["host"])
    feed = with_password(Role.FEED)
    todo = plan(cluster, wide, feed)
    with pytest.raises(RefusedError, match="has changes that have to be approved") as refused:
        scope(cluster, wide, feed).apply()
    assert scope(cluster, wide, feed).commands.apply(todo) in str(refused.value)
    with pytest.raises(RefusedError, match="opens something by User:backfill, which the approval does not name"):
        scope(cluster, wide, feed).apply(Approval(todo.id))
    with pytest.raises(RefusedError, match="is out of date"):
        scope(cluster, wide, feed).apply(Approval("0" * 12))
    assert not cluster.entries
    assert not cluster.passwords
    applied(cluster, wide, feed)
    assert cluster.entries


def test_a_plan_is_bound_to_what_it_has_seen() -> None:
    cluster, spec = InMemoryAccess(), principal(Role.BACKFILL, hosts=("*",), widens=["host"])
    before = plan(cluster, spec)
    cluster.grant([Acl("User:somebody", READ, "10.0.0.1")])
    assert plan(cluster, spec).changes == before.changes
    cluster.grant([Acl("User:backfill", READ, "10.0.0.1")])
    with pytest.raises(RefusedError, match="is out of date"):
        scope(cluster, spec).apply(Approval(before.id, widening=frozenset(before.widening)))


def test_missing_passwords_are_named_together_before_anything_is_changed() -> None:
    def missing(variable: str) -> str:
        raise NotReadyError(f"{variable} is not set here.", fix="set it.")

    cluster = InMemoryAccess()
    with pytest.raises(NotReadyError, match=r"PASSWORD_BACKFILL is not set here; SLUICE_PASSWORD_FEED is not set here"):
        scope(cluster, with_password(Role.FEED), with_password(Role.BACKFILL), passwords=missing).apply()
    assert not cluster.entries


def test_a_cluster_that_forgets_is_noticed() -> None:
    class Forgetful(InMemoryAccess):
        def grant(self, acls: Collection[Acl]) -> None:
            """Say yes, and do nothing."""

    with pytest.raises(CorruptionError, match="the cluster still differs: User:backfill: read topic orders"):
        scope(Forgetful(), principal(Role.BACKFILL)).apply()


def test_a_broker_that_has_not_heard_of_a_change_yet_is_asked_again() -> None:
    class Slow(InMemoryAccess):
        late = 0

        def acls(self) -> frozenset[Acl]:
            self.late -= 1
            return super().acls() | (gone if 0 <= self.late < 3 else set())

        def revoke(self, acls: Collection[Acl]) -> None:
            super().revoke(acls)
            gone.update(acls)
            self.late = 3

    cluster, spec, gone = Slow(), principal(Role.BACKFILL), set[Acl]()
    cluster.grant([Acl("User:backfill", Right(ORDERS, Operation.WRITE), "*")])
    applied(cluster, spec)
    assert gone
    assert not plan(cluster, spec)


def test_a_cluster_without_access_control_is_no_empty_one() -> None:
    cluster = InMemoryAccess()
    cluster.secured = False
    with pytest.raises(NotReadyError, match="has no authorizer"):
        scope(cluster).apply()


def test_a_plan_for_programs_holds_no_password() -> None:
    found = access_as_dict(plan_access(catalog(with_password(Role.BACKFILL)), ActualAccess()))
    assert json.loads(json.dumps(found)) == found
    assert [(item["change"], item["principal"], item["risk"]) for item in found["items"]] == [
        ("set password", "User:backfill", "safe"),
        ("grant", "User:backfill", "safe"),
    ]


principals = st.lists(
    st.builds(
        lambda user, role, hosts, scram, state, extra: (with_password if scram else principal)(
            role,
            user,
            hosts=hosts,
            state=state,
            widens=["host"] if "*" in hosts else [],
            extra=[{"resource": "topic", "name": name, "operation": operation} for name, operation in extra],
        ),
        st.sampled_from(["ann", "bob", "cat"]),
        st.sampled_from(list(Role)),
        st.sampled_from([("10.0.0.7",), ("10.0.0.7", "10.0.0.8"), ("*",)]),
        st.booleans(),
        st.sampled_from(["present", "present", "absent"]),
        st.lists(
            st.tuples(st.sampled_from(["orders", "audit"]), st.sampled_from([Operation.READ, Operation.DELETE])),
            max_size=2,
        ),
    ),
    max_size=3,
    unique_by=lambda spec: spec.user,
)
entries = st.frozensets(
    st.builds(
        Acl,
        st.sampled_from(["User:ann", "User:bob", "User:eve", f"User:{ANYTHING}", f"User:{ANONYMOUS}"]),
        st.builds(
            Right,
            st.sampled_from([ORDERS, Resource(ResourceKind.TOPIC, "audit"), CLUSTER]),
            st.sampled_from([Operation.READ, Operation.WRITE, Operation.ALTER]),
        ),
        st.sampled_from(["10.0.0.7", "*"]),
        st.booleans(),
    ),
    max_size=6,
)
credentials = st.dictionaries(
    st.tuples(st.sampled_from(["ann", "bob", "eve"]), st.sampled_from(list(Mechanism))),
    st.tuples(st.sampled_from([4096, 8192]), st.just("old")),
    max_size=4,
)


def cluster_of(acls: frozenset[Acl], known: dict[tuple[str, Mechanism], tuple[int, str]]) -> InMemoryAccess:
    cluster = InMemoryAccess()
    cluster.entries, cluster.passwords = set(acls), dict(known)
    return cluster


@settings(max_examples=100)
@given(principals, entries, credentials)
def test_whoever_approves_gets_what_is_declared_and_nobody_else_is_touched(
    specs: list[PrincipalSpec], acls: frozenset[Acl], known: dict[tuple[str, Mechanism], tuple[int, str]]
) -> None:
    cluster, users = cluster_of(acls, known), {spec.user for spec in specs}
    applied(cluster, *specs)
    assert not plan(cluster, *specs)
    for spec in specs:
        allowed = {acl for acl in cluster.entries if acl.principal == spec.principal and not acl.denied}
        assert allowed == declared(spec, catalog())
    assert {a for a in acls if a.denied} == {a for a in cluster.entries if a.denied}, "no denial is ever taken away"
    others = {acl for acl in acls if acl.principal.removeprefix("User:") not in users}
    assert others <= cluster.entries
    assert {key: value for key, value in known.items() if key[0] not in users}.items() <= cluster.passwords.items()


@settings(max_examples=60)
@given(principals, entries, credentials, st.integers(0, 2**32))
def test_the_order_of_specs_and_entries_does_not_matter(
    specs: list[PrincipalSpec],
    acls: frozenset[Acl],
    known: dict[tuple[str, Mechanism], tuple[int, str]],
    seed: int,
) -> None:
    shuffled = list(specs)
    chance.Random(seed).shuffle(shuffled)
    one = plan_access(catalog(*specs), ActualAccess.of(cluster_of(acls, known)))
    other = plan_access(catalog(*shuffled), ActualAccess.of(cluster_of(frozenset(sorted(acls, reverse=True)), known)))
    assert (one, one.id) == (other, other.id)


class CutError(Exception):
    """The process was killed."""


class Dying(InMemoryAccess):
    """Dies before one of its changes, counted from 0."""

    left = 10**6

    def _step(self) -> None:
        if not self.left:
            raise CutError
        self.left -= 1

    def grant(self, acls: Collection[Acl]) -> None:
        for acl in acls:
            self._step()
            super().grant([acl])

    def revoke(self, acls: Collection[Acl]) -> None:
        for acl in acls:
            self._step()
            super().revoke([acl])

    def set_password(self, credential: Credential, password: str) -> None:
        self._step()
        super().set_password(credential, password)

    def drop_password(self, user: str, mechanism: Mechanism) -> None:
        self._step()
        super().drop_password(user, mechanism)


@settings(max_examples=100)
@given(principals, entries, credentials, st.integers(0, 12))
def test_what_was_cut_off_anywhere_is_finished_by_the_next_apply_and_nobody_had_less_in_between(
    specs: list[PrincipalSpec],
    acls: frozenset[Acl],
    known: dict[tuple[str, Mechanism], tuple[int, str]],
    steps: int,
) -> None:
    cluster = Dying()
    cluster.entries, cluster.passwords = set(acls), dict(known)
    cluster.left = steps
    try:
        applied(cluster, *specs)
    except CutError:
        wanted = {acl for spec in specs for acl in declared(spec, catalog())}
        assert acls & wanted <= cluster.entries, "what stays allowed was never taken away"
        if acls - cluster.entries:
            assert wanted <= cluster.entries, "what is given comes before what is taken"
        cluster.left = 10**6
        applied(cluster, *specs)
    assert not plan(cluster, *specs)


def test_the_id_stands_for_the_kind_of_change_too() -> None:
    found = plan_access(catalog(principal(Role.BACKFILL)), ActualAccess())
    (grant,) = found.changes
    assert isinstance(grant.detail, Acl)
    taken = replace(revoke(grant.detail), current=grant.current, wanted=grant.wanted, risk=grant.risk)
    assert replace(found, changes=(taken,)).id != found.id
