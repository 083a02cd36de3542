"""The events of a stream's attempts follow from the record alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from openlineage.client.event_v2 import RunState
from openlineage.client.serde import Serde

from sluice.lineage.facets import instant
from sluice.lineage.streams import end_of
from sluice.streams.failures.failure import Failure, FailureClass
from sluice.streams.health.health import Health
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.attempts import AttemptState
from tests.unit.lineage.subjects import BEGIN, STREAM, attempt

LAGS = Verdict(Health.LAGGING, "It falls behind.", lag_records=700, lag_seconds=12.5)


def test_an_event_in_full() -> None:
    event = Serde.to_dict(STREAM.running(attempt(), BEGIN + timedelta(minutes=1), LAGS, read=1_200))
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


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (FailureClass.STOPPED, RunState.COMPLETE),
        (FailureClass.FENCED, RunState.ABORT),
        (FailureClass.FORCED, RunState.ABORT),
        (FailureClass.KILLED, RunState.FAIL),
        (FailureClass.CODE, RunState.FAIL),
        (FailureClass.UNKNOWN, RunState.FAIL),
    ],
)
def test_how_an_attempt_ended(failure: FailureClass, kind: RunState) -> None:
    event = STREAM.ended(attempt(AttemptState.ENDED, failure, reason="it is over"))
    assert (event.eventType, event.eventTime) == (kind, instant(BEGIN + timedelta(hours=1)))
    error = Serde.to_dict(event)["run"]["facets"].get("errorMessage", {}).get("message")
    assert error == (None if kind is RunState.COMPLETE else "it is over")


def test_every_class_of_failure_is_told() -> None:
    assert {end_of(failure) for failure in FailureClass} == {RunState.COMPLETE, RunState.ABORT, RunState.FAIL}


def test_an_attempt_has_one_id_whatever_becomes_of_it() -> None:
    assert STREAM.started(attempt()).eventTime == instant(BEGIN + timedelta(seconds=2))  # when its driver was there
    first = STREAM.started(attempt()).run.runId
    assert STREAM.running(attempt(), BEGIN, LAGS).run.runId == first
    assert STREAM.ended(attempt(AttemptState.ENDED, FailureClass.STOPPED)).run.runId == first
    assert STREAM.started(attempt(generation=4)).run.runId != first
    assert replace(STREAM, stream="departures_live").started(attempt()).run.runId != first
    assert replace(STREAM, namespace="other").started(attempt()).run.runId != first


def test_a_stream_that_ended_alone_failed_when_it_did_and_however_its_driver_ended() -> None:
    alone = Failure(FailureClass.CODE, "ValueError", "no such column", BEGIN + timedelta(minutes=5), "departures")
    stopped = attempt(AttemptState.ENDED, FailureClass.STOPPED)
    assert STREAM.ended(attempt(), alone) == STREAM.ended(stopped, alone)
    event = STREAM.ended(stopped, alone)
    assert (event.eventType, event.eventTime) == (RunState.FAIL, instant(alone.at))


def test_the_version_that_it_made_is_said_of_the_table_that_it_made() -> None:
    over = attempt(AttemptState.ENDED, FailureClass.STOPPED)
    (made,) = Serde.to_dict(STREAM.ended(over, versions={"/data/tables/departures": 41}))["outputs"]
    assert made["facets"]["version"]["datasetVersion"] == "41"
    for other in (STREAM.ended(over), STREAM.ended(over, versions={"/data/tables/other": 41})):
        assert "version" not in Serde.to_dict(other)["outputs"][0]["facets"]
