"""Datasets are named by OpenLineage's rules, as its own classes do it."""

from __future__ import annotations

import pytest
from openlineage.client.naming import dataset as rules
from openlineage.client.serde import Serde

from sluice.lineage import datasets
from tests.unit.lineage.subjects import FLIGHTS, STREAM, TABLE


@pytest.mark.parametrize(
    ("location", "rule"),
    [
        ("/data/tables/departures", rules.LocalFileSystem("/data/tables/departures")),
        ("file:///data/tables/departures", rules.LocalFileSystem("/data/tables/departures")),
        ("s3a://lake/tables/departures/", rules.S3("lake", "tables/departures")),
        ("s3://lake/tables/departures", rules.S3("lake", "tables/departures")),
        ("gs://lake/tables/departures", rules.GCS("lake", "tables/departures")),
        ("hdfs://name:8020/tables/departures", rules.HDFS("name", "8020", "/tables/departures")),
    ],
)
def test_a_table_is_named_by_its_place(location: str, rule: rules.DatasetNaming) -> None:
    assert datasets.place(location) == (rule.get_namespace(), rule.get_name())


def test_a_topic_is_named_by_the_first_broker_and_has_the_fields_of_its_spec() -> None:
    rule = rules.Kafka("broker-1", "9092", "flights")
    assert (STREAM.topics[0].namespace, STREAM.topics[0].name) == (rule.get_namespace(), rule.get_name())
    fields = Serde.to_dict(STREAM.topics[0])["facets"]["schema"]["fields"]
    assert [field["name"] for field in fields] == list(FLIGHTS.value.fields)
    assert list(datasets.topic(("broker-1:9092",), "other", None).facets or ()) == ["datasetType"]


def test_a_table_that_does_not_exist_yet_has_no_schema() -> None:
    assert list(TABLE.facets or ()) == ["datasetType", "storage", "schema"]
    assert list(datasets.table("/nowhere", None).facets or ()) == ["datasetType", "storage"]


def test_a_table_of_postgres_is_named_without_its_password() -> None:
    found = datasets.postgres_table("postgresql+psycopg://ada:secret@db:5433/serving", "newest")
    rule = rules.Postgres("db", "5433", "serving", "public", "newest")
    assert (found.namespace, found.name) == (rule.get_namespace(), rule.get_name())
