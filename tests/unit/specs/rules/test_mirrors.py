"""What is refused of mirrors, each at its line and with what to do, and all of it at once."""

from __future__ import annotations

import pytest

from sluice.specs.catalog.variables import variables_of_mirror
from sluice.specs.deployments.mirror import matching
from sluice.specs.reading.kinds import Kind
from tests.unit.specs.bench import DEPLOYMENT, DEPLOYMENT_FILE, PIPELINE_FILE, TOPIC_FILE, Bench

FILE = "include/mirrors/standby.yaml"
MIRROR = """\
name: standby
source: prod
target: reserve
topics: [orders, "audit[.].*"]
pipelines: [sales]
max_lag: 2 min
"""
RESERVE = DEPLOYMENT.replace("prod", "reserve").replace("kafka:9092", "reserve:9092")


@pytest.fixture
def mirrored(bench: Bench) -> Bench:
    bench.write("include/deployments/reserve.yaml", RESERVE)
    bench.write(FILE, MIRROR)
    return bench


def faults(bench: Bench) -> list[str]:
    return [str(fault) for fault in bench.scan().faults]


def test_a_mirror_between_two_deployments_is_sound(mirrored: Bench) -> None:
    assert faults(mirrored) == []
    assert mirrored.scan().catalog.mirrors["standby"].max_lag.total_seconds() == 120


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("source: prod", "source: prd", "2: source: there is no deployment 'prd' in include/deployments. Fix: did you"),
        ("target: reserve", "target: reserv", "3: target: there is no deployment 'reserv'"),
        ("target: reserve", "target: prod", "source and target are both 'prod'; name two deployments"),
        ("pipelines: [sales]", "pipelines: [sale]", "5: pipelines[0]: there is no pipeline 'sale'"),
        ('topics: [orders, "audit[.].*"]\npipelines: [sales]\n', "", "it names no topic; write `topics`, `pipelines`"),
        ('"audit[.].*"', '"audit(.*"', "4: topics[1]: 'audit(.*' is no pattern"),
        ('"audit[.].*"', '"audit,.*"', "4: topics[1]"),
        ('"audit[.].*"', "''", "4: topics[1]"),
        ("max_lag: 2 min", "max_lag: 5s", "`max_lag` is 0:00:05, and a check is made once a minute"),
        ("max_lag: 2 min", "max_lag: soon", "6: max_lag: 'soon' is not a duration"),
        ("max_lag: 2 min", "heartbeats: 0s", "`heartbeats` is 0:00:00; write whole seconds"),
        ("max_lag: 2 min", "replication: 0", "6: replication: found 0; it must be at least 1"),
        ("max_lag: 2 min", "rehearse: sometimes", "6: rehearse: 'sometimes' is no schedule"),
        ("max_lag: 2 min", "max_leg: 2 min", "6: max_leg: no such key is known here. Fix: did you mean 'max_lag'?"),
        ("max_lag: 2 min", "password: x", "6: password: no such key is known here"),
    ],
)
def test_each_mistake_is_one_fault_with_what_to_do(mirrored: Bench, old: str, new: str, said: str) -> None:
    mirrored.edit(FILE, old, new)
    (fault,) = faults(mirrored)
    assert fault.startswith(f"{FILE}:")
    assert said in fault


def test_all_faults_come_at_once(mirrored: Bench) -> None:
    mirrored.edit(FILE, "source: prod", "source: prd")
    mirrored.edit(FILE, "pipelines: [sales]", "pipelines: [sale, shop]")
    assert len(faults(mirrored)) == 3
    mirrored.edit(FILE, "max_lag: 2 min", "max_lag: 1s\nheartbeats: 0s")
    (fault,) = faults(mirrored)  # what a file says by itself comes before what it says of others
    assert "max_lag" in fault
    assert "heartbeats" in fault


def test_two_names_of_one_cluster_are_no_mirror(mirrored: Bench) -> None:
    mirrored.edit("include/deployments/reserve.yaml", "reserve:9092", "kafka:9092")
    (fault,) = faults(mirrored)
    assert "prod and reserve are one cluster (kafka:9092)" in fault


def test_the_one_embedded_cluster_is_not_mirrored_into_itself(mirrored: Bench) -> None:
    for name in ("prod", "reserve"):
        mirrored.write(f"include/deployments/{name}.yaml", f"name: {name}\nkafka: {{kind: embedded}}\n")
    (fault,) = faults(mirrored)
    assert "one cluster (the embedded broker)" in fault


def test_a_target_in_which_no_client_makes_topics_is_refused(mirrored: Bench) -> None:
    hubs = """\
name: reserve
kafka:
  kind: external
  profile: event_hubs
  bootstrap: ["shop.servicebus.windows.net:9093"]
  login: {user: $ConnectionString, password_variable: SLUICE_PASSWORD_HUBS, mechanism: PLAIN}
"""
    mirrored.write("include/deployments/reserve.yaml", hubs)
    (fault,) = faults(mirrored)
    assert f"{FILE}:3: target: Event Hubs does not manage its topics by Kafka's administration" in fault
    confluent = hubs.replace("event_hubs", "confluent_cloud").replace("$ConnectionString", "KEY")
    confluent = confluent.replace("shop.servicebus.windows.net:9093", "pkc:9092")
    mirrored.write("include/deployments/reserve.yaml", f"{confluent}replication: 3\n")
    assert faults(mirrored) == []
    mirrored.edit(FILE, "max_lag: 2 min", "replication: 2")
    (fault,) = faults(mirrored)
    assert "the copies would have 2 replicas, and Confluent Cloud has 3. Fix: write 3." in fault


def test_what_comes_back_would_be_copied_for_ever(mirrored: Bench) -> None:
    mirrored.write("include/mirrors/back.yaml", "name: back\nsource: reserve\ntarget: prod\ntopics: [orders]\n")
    first, second = faults(mirrored)
    assert "include/mirrors/back.yaml:3: target: its records come back to reserve (by back, standby)" in first
    assert "its records come back to prod (by back, standby)" in second
    third = DEPLOYMENT.replace("prod", "third").replace("kafka:9092", "third:9092")
    mirrored.write("include/deployments/third.yaml", third)
    mirrored.edit("include/mirrors/back.yaml", "target: prod", "target: third")
    assert faults(mirrored) == [], "a chain is no circle"
    mirrored.write("include/mirrors/round.yaml", "name: round\nsource: third\ntarget: prod\ntopics: [orders]\n")
    assert len(faults(mirrored)) == 3


def test_a_topic_is_copied_from_one_source(mirrored: Bench) -> None:
    third = DEPLOYMENT.replace("prod", "third").replace("kafka:9092", "third:9092")
    mirrored.write("include/deployments/third.yaml", third)
    mirrored.write("include/mirrors/too.yaml", 'name: too\nsource: third\ntarget: reserve\ntopics: ["ord.*"]\n')
    (fault,) = faults(mirrored)
    assert "include/mirrors/too.yaml:4: topics: orders is also copied into reserve by the mirror standby" in fault
    mirrored.edit("include/mirrors/too.yaml", "ord.*", "other.*")
    assert faults(mirrored) == []


def test_its_process_is_named_like_no_driver(mirrored: Bench) -> None:
    for file in (PIPELINE_FILE, TOPIC_FILE):
        mirrored.edit(file, "driver: shop", "driver: mirror_standby")
    (fault,) = faults(mirrored)
    assert "its process would be named like the driver 'mirror_standby'" in fault


def test_a_broken_deployment_breaks_its_mirrors_and_no_other(mirrored: Bench) -> None:
    mirrored.edit("include/deployments/reserve.yaml", "kind: external", "kind: extern")
    found = mirrored.scan()
    assert {key for key in found.broken if key[0] is Kind.MIRROR} == {(Kind.MIRROR, "standby")}
    assert "prod" in found.catalog.deployments


def test_its_process_gets_the_passwords_of_both_ends(mirrored: Bench) -> None:
    for name, file in (("PROD", DEPLOYMENT_FILE), ("RESERVE", "include/deployments/reserve.yaml")):
        login = f"  login: {{user: shop, password_variable: SLUICE_PASSWORD_{name}}}\n"
        mirrored.edit(file, "  client:\n    client.id: shop\n", login)
    catalog = mirrored.scan().catalog
    assert variables_of_mirror(catalog, catalog.mirrors["standby"]).secrets == {
        "SLUICE_PASSWORD_PROD",
        "SLUICE_PASSWORD_RESERVE",
    }


def test_patterns_are_of_whole_names_and_never_of_kafkas_own_topics() -> None:
    names = ("orders", "orders2", "audit.a", "audit", "__consumer_offsets", "mm2-offsets.prod.internal", "heartbeats")
    assert matching(("orders", "audit[.].*"), names) == ("orders", "audit.a")
    assert matching((".*",), names) == ("orders", "orders2", "audit.a", "audit")
