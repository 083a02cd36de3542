"""What `sluice topics import` proposes for a value is what Spark's decoding makes of its records."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from sluice.provisioning.importing.proposal import Proposal, propose
from sluice.provisioning.importing.sample import RecordSample
from sluice.spark.records.validation import OUTCOME, validate
from sluice.specs.model.model import TopicSpec
from sluice.specs.model.sources import TimeRules
from sluice.specs.reading.diagnosis import read_spec
from sluice.specs.reading.document import parse_document
from sluice.topics.administration import TopicState
from sluice.topics.records import Record

AT = datetime(2013, 1, 7, 12, tzinfo=UTC)
FIELDS = {
    "zulu": ("2013-01-07T12:00:00Z", "2013-01-07T12:00:00.1Z", "2013-01-07T12:00:00.123456789Z"),
    "offset": ("2013-01-07T12:00:00+01:00", "2013-01-07T12:00:00.5-11:30", "2013-01-07 12:00:00+00:00"),
    "zoneless": ("2013-01-07T12:00:00", "2013-01-07 12:00:00", "2013-01-07 12:00:00.25"),
    "day": ("2013-01-07", "2013-01-07", "2013-01-08"),
    "time_or_text": ("2013-01-07T12:00:00Z", "soon", ""),
    "compact_offset": ("2013-01-07T12:00:00+0100", "2013-01-07T12:00:00+01", "20130107T120000Z"),
    "whole": (0, -(2**63), 2**63 - 1),
    "too_large": (1, 2**63, 10**30),
    "number": (1, 1.5, 1e300),
    "flag": (True, False, True),
    "flag_or_number": (True, 1, 1.5),
    "number_or_text": (1, "x", 1.5),
    "nested": ({"a": [1, {"b": None}]}, [], {}),
    "nested_or_text": ({"a": 1}, "x", [1]),
    "optional": (None, 1, 2),
    "null": ("x", "y", "größer 🙂"),
}


@pytest.mark.verify
def test_every_record_of_the_sample_is_good_and_no_field_is_lost(spark: SparkSession) -> None:
    values = [json.dumps({name: of[number] for name, of in FIELDS.items()}).encode() for number in range(3)]
    sample = RecordSample()
    for offset, value in enumerate(values):
        sample.add(Record(0, offset, AT, False, None, value))
    proposal = propose(TopicState("events", "id", ((1,),), {}), sample, replication=1)
    assert isinstance(proposal, Proposal)
    spec = read_spec(TopicSpec, parse_document(proposal.text.encode(), "events.yaml"))
    assert isinstance(spec, TopicSpec)
    assert spec.value.fields.keys() == FIELDS.keys()
    rules = TimeRules(allowed_lateness=timedelta(days=7), future_skew=timedelta(days=7))
    records = spark.createDataFrame([(value, AT) for value in values], "_value binary, _timestamp timestamp")
    for number, row in enumerate(validate(records, spec.value, rules).collect()):
        assert row[OUTCOME] == "good", row
        assert [name for name in FIELDS if row[name] is None] == [n for n in FIELDS if FIELDS[n][number] is None]


@pytest.mark.parametrize("text", ["2013-02-30T00:00:00Z", "2013-01-07T24:00:00Z", "2013-01-07T12:00:00+99:00"])
def test_what_is_no_time_for_spark_is_none_for_the_import(text: str) -> None:
    sample = RecordSample()
    sample.add(Record(0, 0, AT, False, None, json.dumps({"at": text}).encode()))
    assert not isinstance(propose(TopicState("events", "id", ((1,),), {}), sample, replication=1), Proposal)
