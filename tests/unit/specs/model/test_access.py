"""Principals: each mistake is refused at its line, and no `*` passes unseen."""

from __future__ import annotations

import pytest

from sluice.specs.load import load_catalog
from sluice.specs.model.access import Role
from sluice.specs.reading.kinds import Kind
from tests.unit.specs.bench import PIPELINE_FILE, TOPIC_FILE, Bench
from tests.unit.specs.case import Case, assert_one_fault, words

PRINCIPAL_FILE = "include/access/shop_stream.yaml"
PRINCIPAL = """\
name: shop_stream
user: sluice-stream
role: stream
scope: [shop]
hosts: [10.0.0.7]
scram: {password_variable: SLUICE_PASSWORD_STREAM}
extra:
  - {resource: topic, name: audit, operation: write}
  - {resource: group, name: shop-, pattern: prefixed, operation: read}
  - {resource: cluster, operation: idempotent_write}
deployments: [prod]
"""


@pytest.fixture
def guarded(bench: Bench) -> Bench:
    bench.write(PRINCIPAL_FILE, PRINCIPAL)
    return bench


def test_a_principal_is_read_and_belongs_to_its_deployments(guarded: Bench) -> None:
    catalog = load_catalog(guarded.include)
    spec = catalog.access["shop_stream"]
    assert (spec.principal, spec.role, spec.widenings) == ("User:sluice-stream", Role.STREAM, frozenset())
    assert catalog.in_deployment("prod").access == {"shop_stream": spec}
    assert catalog.in_deployment("local").access == {}


@pytest.mark.parametrize(
    "case",
    [
        ("role: stream", "role: streamer", 3, "role", "found 'streamer'; it must be 'feed', 'stream', "),
        ("name: shop_stream", "name: shop", 1, "name", "the file shop_stream.yaml"),
        ("sluice-stream", "User:sluice", 2, "user", "is no user; write its name without `User:`"),
        ("user: sluice-stream", "user: ''", 2, "user", "'' is no user"),
        ("scope: [shop]", "scope: [ship]", 4, "scope[0]", "for units, and there is no 'ship' among them. Fix: did you"),
        ("scope: [shop]", "scope: []", 4, "scope", "it needs at least one entry"),
        ("role: stream", "role: planner", 4, "scope", "a plan is about all topics that are declared"),
        ("scope: [shop]", "duties: [topics]", 4, "duties", "only a planner has duties; this is a stream"),
        ("[10.0.0.7]", "[kafka-1]", 5, "hosts", "'kafka-1' is no address, and Kafka compares addresses"),
        ("[10.0.0.7]", "[10.0.0.0/8]", 5, "hosts", "is no address"),
        ("hosts: [10.0.0.7]\n", "", 1, "hosts", "the key is missing"),
        ("password_variable: SLUICE_PASSWORD_STREAM", "password: hunter2", 6, "scram.password", "no such key is known"),
        ("SLUICE_PASSWORD_STREAM", "hunter2", 6, "scram.password_variable", "found a value"),
        ("SLUICE_PASSWORD_STREAM", "HUNTER2", 6, "scram.password_variable", "found a value"),
        ("_STREAM}", "_STREAM, iterations: 1000}", 6, "scram.iterations", "must be at least 4096"),
        ("_STREAM}", "_STREAM, mechanism: PLAIN}", 6, "scram.mechanism", "'SCRAM-SHA-256' or 'SCRAM-SHA-512'"),
        ("operation: write", "operation: writes", 8, "extra[0].operation", "did you mean 'write'?"),
        (
            "operation: read",
            "operation: write",
            9,
            "extra[1].operation",
            "a group has no such operation; it has ",
        ),
        ("name: audit, ", "", 8, "extra[0]", "say which topic"),
        ("{resource: cluster,", "{resource: cluster, name: mine,", 10, "extra[2].name", "there is one cluster"),
        ("resource: group", "resource: user", 9, "extra[1].resource", "must be 'topic', 'group', 'cluster' or"),
        ("deployments: [prod]", "deployments: [prd]", 11, "deployments[0]", "no deployment 'prd'"),
    ],
    ids=words,
)
def test_a_principal_that_breaks_a_rule_is_refused(guarded: Bench, case: Case) -> None:
    assert_one_fault(guarded, PRINCIPAL_FILE, case)
    assert "unter2" not in str(guarded.scan().faults[0]).casefold(), "a password in a file is not repeated"


@pytest.mark.parametrize(
    "case",
    [
        ("user: sluice-stream", "user: '*'", 2, "user", "* is everybody; name it, or add principal to `widens`"),
        ("user: sluice-stream", "user: ANONYMOUS", 2, "user", "ANONYMOUS is every client that does not log in"),
        ("[10.0.0.7]", "[10.0.0.7, '*']", 5, "hosts", "* is every host; name it, or add host to `widens`"),
        ("name: audit", "name: '*'", 7, "extra", "* is every topic; name it, or add resource to `widens`"),
    ],
    ids=words,
)
def test_nothing_is_widened_without_the_flag(guarded: Bench, case: Case) -> None:
    guarded.edit(PRINCIPAL_FILE, "scram: {password_variable: SLUICE_PASSWORD_STREAM}", "description: a stream")
    assert_one_fault(guarded, PRINCIPAL_FILE, case)
    _, _, _, where, _ = case
    flag = {"user": "principal", "hosts": "host", "extra": "resource"}[where]
    wrong = next(other for other in ("principal", "host", "resource") if other != flag)
    guarded.edit(PRINCIPAL_FILE, "deployments: [prod]", f"deployments: [prod]\nwidens: [{wrong}]")
    assert [f.where for f in guarded.scan().faults] == [where], "the flag of another widening lets nothing through"
    guarded.edit(PRINCIPAL_FILE, f"widens: [{wrong}]", f"widens: [{flag}]")
    assert guarded.scan().faults == ()


def test_a_flag_that_nothing_needs_is_refused(guarded: Bench) -> None:
    case = ("deployments: [prod]", "widens: [host]", 11, "widens[0]", "nothing here is open to every host.")
    assert_one_fault(guarded, PRINCIPAL_FILE, case)


def test_everybody_has_no_password(guarded: Bench) -> None:
    guarded.edit(PRINCIPAL_FILE, "user: sluice-stream", "widens: [principal]\nuser: '*'")
    (fault,) = guarded.scan().faults
    assert (fault.where, fault.line) == ("scram", 7)


@pytest.mark.parametrize(
    ("role", "member", "other"),
    [("feed", "replay", "orders"), ("backfill", "sales", "shop"), ("watcher", "orders", "sales")],
)
def test_a_scope_names_what_its_role_is_there_for(guarded: Bench, role: str, member: str, other: str) -> None:
    guarded.edit(PRINCIPAL_FILE, "role: stream\nscope: [shop]", f"role: {role}\nscope: [{member}]")
    assert guarded.scan().faults == ()
    guarded.edit(PRINCIPAL_FILE, f"scope: [{member}]", f"scope: [{other}]")
    (fault,) = guarded.scan().faults
    assert (fault.where, fault.line) == ("scope[0]", 4)


def test_one_user_in_two_files_is_refused_in_both_unless_their_deployments_differ(guarded: Bench) -> None:
    guarded.write("include/deployments/test.yaml", "name: test\nkafka: {kind: embedded}\n")
    again = PRINCIPAL.replace("shop_stream", "again")
    guarded.write("include/access/again.yaml", again)
    assert [(f.file, f.where) for f in guarded.scan().faults] == [
        ("include/access/again.yaml", "user"),
        (PRINCIPAL_FILE, "user"),
    ]
    guarded.write("include/access/again.yaml", again.replace("[prod]", "[test]"))
    assert guarded.scan().faults == ()
    guarded.write("include/access/again.yaml", again.replace("deployments: [prod]\n", ""))
    assert len(guarded.scan().faults) == 2


@pytest.mark.parametrize("file", [TOPIC_FILE, PIPELINE_FILE])
def test_a_broken_spec_takes_no_right_away(guarded: Bench, file: str) -> None:
    """Without the spec nobody would seem to need the topic: the principals are left out, and so left alone."""
    guarded.edit(file, "name: ", "nme: ")
    found = guarded.scan()
    assert found.catalog.access == {}
    assert (Kind.PRINCIPAL, "shop_stream") in found.broken
    assert {fault.file for fault in found.faults} == {file}


def test_a_topic_under_a_wrong_ending_takes_no_right_away(guarded: Bench) -> None:
    guarded.write("include/topics/more.yml", "name: more\n")
    assert guarded.scan().catalog.access == {}


def test_all_faults_are_told_at_once(guarded: Bench) -> None:
    guarded.edit(PRINCIPAL_FILE, "role: stream", "role: streamer")
    guarded.edit(PRINCIPAL_FILE, "[10.0.0.7]", "['*']")
    guarded.edit(PRINCIPAL_FILE, "SLUICE_PASSWORD_STREAM", "hunter2")
    assert [fault.where for fault in guarded.scan().faults] == ["role", "hosts", "scram.password_variable"]
