from __future__ import annotations

from pathlib import Path

from sluice.errors import UnreachableError
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.load import load_catalog
from sluice.topics.administration import TopicCreation, TopicExtent
from sluice.topics.description import Description, Usage
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.unit.specs.bench import PIPELINE, sound_project

OUTPUTS = """\
outputs:
  - {kind: latest, table: sales_now, keys: [shop]}
  - {kind: topic, topic: sales_out, keys: [shop], create: {partitions: 3, keyed: false, owner: shop team}}
"""


def usage(catalog: Catalog, topic: str) -> Usage:
    return Usage.of(catalog, topic)


def test_the_specs_say_who_declares_reads_writes_and_feeds_a_topic(tmp_path: Path) -> None:
    bench = sound_project(tmp_path)
    before, _, after = PIPELINE.partition("output:\n")
    after = after[after.index("driver:") :]
    bench.write("include/pipelines/sales.yaml", before + OUTPUTS + after)
    bench.edit("include/topics/orders.yaml", "partitions: 2", "partitions: 2\nowner: orders@example.org")
    bench.write("include/topics/gone.yaml", "name: gone\nstate: absent\n")
    catalog = load_catalog(bench.include)
    assert usage(catalog, "orders") == Usage(
        "include/topics/orders.yaml", "orders@example.org", True, read_by=("sales",), fed_by=("replay",)
    )
    assert usage(catalog, "sales_out") == Usage(
        "include/pipelines/sales.yaml", "shop team", False, written_by=("sales",)
    )
    assert usage(catalog, "gone") == Usage("include/topics/gone.yaml")
    assert usage(catalog, "foreign") == Usage()


def test_replicas_out_of_sync_and_partitions_without_a_leader_are_seen() -> None:
    cluster = InMemoryKafkaAdministration(brokers=3)
    cluster.create([TopicCreation("t", 3, 2)])
    assert described(cluster).under_replicated == ()
    cluster.fail(1)
    lost = described(cluster)
    assert lost.state.replicas == ((1, 2), (2, 3), (3, 1))
    assert (lost.under_replicated, lost.leaderless) == ((0, 2), ())
    cluster.topics["t"] = cluster.topics["t"].__class__(**{**vars(cluster.topics["t"]), "leaders": (2, None, 3)})
    assert described(cluster).leaderless == (1,)


def described(cluster: InMemoryKafkaAdministration) -> Description:
    return Description(cluster.describe(["t"])["t"], Usage(), cluster.extent("t"))


def test_each_partition_has_a_row_and_records_are_counted_from_the_first_that_is_left() -> None:
    cluster = InMemoryKafkaAdministration(brokers=2)
    cluster.create([TopicCreation("t", 2, 2)])
    cluster.offsets["t"] = {0: 10, 1: 5}
    cluster.trim("t", 0, 4)
    found = described(cluster)
    assert found.records == 11
    assert found.rows == [
        {"partition": 0, "leader": 1, "replicas": [1, 2], "in_sync": [1, 2], "first": 4, "next": 10},
        {"partition": 1, "leader": 2, "replicas": [2, 1], "in_sync": [1, 2], "first": 0, "next": 5},
    ]


def test_what_it_holds_may_be_unknown_and_is_not_zero() -> None:
    cluster = InMemoryKafkaAdministration()
    cluster.create([TopicCreation("t", 1, 1)])
    error = UnreachableError("No broker leads partition 0 of t.", fix="see whether the brokers run.")
    found = Description(cluster.describe(["t"])["t"], Usage(), error)
    assert found.records is None
    assert found.rows[0]["next"] is None
    assert (found.as_dict()["ends"], found.as_dict()["unknown"]) == (None, str(error))


def test_it_is_json_with_all_that_is_known() -> None:
    cluster = InMemoryKafkaAdministration()
    cluster.create([TopicCreation("t", 1, 1, {"retention.ms": "-1"})])
    extent = TopicExtent("id", {0: 1}, {0: 3})
    assert Description(cluster.describe(["t"])["t"], Usage(keyed=True), extent).as_dict() == {
        "name": "t",
        "topic_id": cluster.topics["t"].topic_id,
        "declared_in": None,
        "owner": None,
        "keyed": True,
        "read_by": [],
        "written_by": [],
        "fed_by": [],
        "partitions": 1,
        "replicas": [[1]],
        "leaders": [1],
        "in_sync": [[1]],
        "leaderless": [],
        "under_replicated": [],
        "configs": {"retention.ms": "-1"},
        "beginnings": {0: 1},
        "ends": {0: 3},
        "records": 2,
        "unknown": None,
    }
