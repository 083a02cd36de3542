"""The events of a stream's attempts follow from the record alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from openlineage.client.serde import Serde

from sluice.lineage.event import EventType
from sluice.lineage.streams import began, end_of, ended, goes_on
from sluice.lineage.transport.client import as_run_event
from sluice.streams.failures.failure import Failure, FailureClass
from sluice.streams.health.verdict import Health, Verdict
from sluice.streams.life.attempts import AttemptState
from tests.unit.lineage.subjects import BEGIN, STREAM, attempt

LAGS = Verdict(Health.LAGGING, "It falls behind.", lag_records=700, lag_seconds=12.5)


def test_an_event_in_full() -> None:
    event = goes_on(STREAM, attempt(), BEGIN + timedelta(minutes=1), LAGS, read=1_200).as_dict()
    schemas = [facet["_schemaURL"] for facet in event["job"]["facets"].values()]
    assert all(each.startswith("https://openlineage.io/spec/facets/") for each in schemas)
    assert event["inputs"][0]["facets"].pop("schema")["fields"]
    for facet in (event["run"], event["job"], *event["inputs"], *event["outputs"]):
        for said in (
            each for group in ("facets", "inputFacets", "outputFacets") for each in facet.get(group, {}).values()
        ):
            assert said.pop("_producer").startswith("urn:sluice:")
            assert said.pop("_schemaURL")
    assert event.pop("producer").startswith("urn:sluice:")
    assert event == {
        "eventType": "RUNNING",
        "eventTime": "2013-01-07T12:01:00.000Z",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {
            "runId": "013c14e1-ae00-709f-8dbd-3a59b1987b34",
            "facets": {
                "sluice_state": {
                    "deployment": "local",
                    "unit": "flights",
                    "generation": 3,
                    "verdict": "LAGGING",
                    "why": "It falls behind.",
                    "lagRecords": 700,
                    "lagSeconds": 12.5,
                }
            },
        },
        "job": {
            "namespace": "sluice.local",
            "name": "stream.departures",
            "facets": {
                "jobType": {
                    "processingType": "STREAMING",
                    "integration": "SLUICE",
                    "jobType": "STREAM",
                    "emissionPattern": {"eventTrigger": "PERIODIC", "eventContentMode": "ACCUMULATIVE"},
                },
                "ownership": {"owners": [{"name": "flight-operations", "type": "OWNER"}]},
                "documentation": {"description": "Departures by hour.", "contentType": "text/plain"},
            },
        },
        "inputs": [
            {
                "namespace": "kafka://broker-1:9092",
                "name": "flights",
                "facets": {"datasetType": {"datasetType": "TOPIC"}},
                "inputFacets": {"inputStatistics": {"rowCount": 1_200}},
            },
            {
                "namespace": "file",
                "name": "/lib/airlines.csv",
                "facets": {
                    "datasetType": {"datasetType": "FILE"},
                    "schema": {
                        "fields": [
                            {"name": "carrier", "type": "string", "ordinal_position": 1},
                            {"name": "name", "type": "string", "ordinal_position": 2},
                        ]
                    },
                },
                "inputFacets": {},
            },
        ],
        "outputs": [
            {
                "namespace": "file",
                "name": "/data/tables/departures",
                "facets": {
                    "datasetType": {"datasetType": "TABLE"},
                    "storage": {"storageLayer": "delta", "fileFormat": "parquet"},
                    "schema": {
                        "fields": [
                            {"name": "hour", "type": "timestamp", "ordinal_position": 1},
                            {"name": "origin", "type": "string", "ordinal_position": 2},
                        ]
                    },
                },
                "outputFacets": {},
            }
        ],
    }


def test_the_client_says_what_the_event_says() -> None:
    for event in (began(STREAM, attempt()), ended(STREAM, attempt(AttemptState.ENDED, FailureClass.KILLED))):
        assert Serde.to_dict(as_run_event(event)) == event.as_dict()


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (FailureClass.STOPPED, EventType.COMPLETE),
        (FailureClass.FENCED, EventType.ABORT),
        (FailureClass.FORCED, EventType.ABORT),
        (FailureClass.KILLED, EventType.FAIL),
        (FailureClass.CODE, EventType.FAIL),
        (FailureClass.UNKNOWN, EventType.FAIL),
    ],
)
def test_how_an_attempt_ended(failure: FailureClass, kind: EventType) -> None:
    event = ended(STREAM, attempt(AttemptState.ENDED, failure, reason="it is over"))
    assert (event.type, event.at) == (kind, BEGIN + timedelta(hours=1))
    errors = [facet.body["message"] for facet in event.run_facets if facet.key == "errorMessage"]
    assert errors == ([] if kind is EventType.COMPLETE else ["it is over"])


def test_every_class_of_failure_is_told() -> None:
    assert {end_of(failure) for failure in FailureClass} == {EventType.COMPLETE, EventType.ABORT, EventType.FAIL}


def test_an_attempt_has_one_id_whatever_becomes_of_it() -> None:
    assert began(STREAM, attempt()).at == BEGIN + timedelta(seconds=2)  # when its driver was there
    first = began(STREAM, attempt()).run
    assert goes_on(STREAM, attempt(), BEGIN, LAGS).run == first
    assert ended(STREAM, attempt(AttemptState.ENDED, FailureClass.STOPPED)).run == first
    assert began(STREAM, attempt(generation=4)).run != first
    assert began(replace(STREAM, stream="departures_live"), attempt()).run != first
    assert began(replace(STREAM, namespace="other"), attempt()).run != first


def test_a_stream_that_ended_alone_failed_when_it_did_and_however_its_driver_ended() -> None:
    alone = Failure(FailureClass.CODE, "ValueError", "no such column", BEGIN + timedelta(minutes=5), "departures")
    stopped = attempt(AttemptState.ENDED, FailureClass.STOPPED)
    assert ended(STREAM, attempt(), alone) == ended(STREAM, stopped, alone)
    event = ended(STREAM, stopped, alone)
    assert (event.type, event.at) == (EventType.FAIL, alone.at)


def test_the_version_that_it_made_is_said_of_the_table_that_it_made() -> None:
    over = attempt(AttemptState.ENDED, FailureClass.STOPPED)
    made = ended(STREAM, over, versions={"/data/tables/departures": 41}).outputs[0]
    assert [facet.body for facet in made.facets if facet.key == "version"] == [{"datasetVersion": "41"}]
    for other in (ended(STREAM, over), ended(STREAM, over, versions={"/data/tables/other": 41})):
        assert "version" not in [facet.key for facet in other.outputs[0].facets]
