"""Times as their topic declares them: what reads, what does not, and that what is written reads back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sluice.specs.model.model import TopicValue, ValueField
from sluice.topics.declared_time import read_time, write_time
from sluice.topics.json_object import read_broker_time

FORMS: list[dict[str, Any]] = [
    {},
    {"zone": "UTC"},
    {"zone": "+05:30"},
    {"zone": "-17:59"},
    *({"epoch": unit} for unit in ("seconds", "milliseconds", "microseconds")),
]
PLAUSIBLE = st.integers(-2_208_900_000, 7_258_000_000).map(lambda s: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(0, s))


def field(**form: Any) -> ValueField:  # noqa: ANN401
    return ValueField.model_validate({"type": "timestamp", **form})


@pytest.mark.parametrize("form", FORMS)
@given(at=PLAUSIBLE)
def test_what_is_written_reads_back(form: dict[str, Any], at: datetime) -> None:
    declared = field(**form)
    assert read_time(write_time(at, declared), declared) == at


@pytest.mark.parametrize("form", [{}, {"epoch": "milliseconds"}, {"format": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"}])
@given(at=PLAUSIBLE, milliseconds=st.integers(0, 999))
def test_milliseconds_read_back_where_the_form_has_them(form: dict[str, Any], at: datetime, milliseconds: int) -> None:
    declared, exact = field(**form), at + timedelta(milliseconds=milliseconds)
    assert read_time(write_time(exact, declared), declared) == exact
    assert write_time(exact, field(epoch="seconds")) == write_time(at, field(epoch="seconds")), "the rest is left out"


@pytest.mark.parametrize(
    ("form", "value", "found"),
    [
        ({}, "2013-01-01T10:00:00", None),
        ({}, 1357034400, None),
        ({"zone": "UTC"}, "2013-01-01T10:00:00", "2013-01-01T10:00:00+00:00"),
        ({"zone": "+05:30"}, "2013-01-01 10:00", "2013-01-01T04:30:00+00:00"),
        ({"zone": "-08:00"}, "2013-01-01T10:00:00+01:00", "2013-01-01T09:00:00+00:00"),
        ({"zone": "-08:00"}, "2199-12-31T20:00:00", None),
        ({"zone": "UTC"}, 1357034400, None),
        ({"epoch": "milliseconds"}, 1357034400123, "2013-01-01T10:00:00.123000+00:00"),
        ({"epoch": "seconds"}, 1357034400123, None),
        ({"epoch": "seconds"}, "1357034400", None),
        ({"epoch": "seconds"}, True, None),
        ({"epoch": "seconds"}, 1357034400.0, None),
        ({"epoch": "microseconds"}, -(10**30), None),
    ],
)
def test_a_value_is_a_time_only_as_it_is_declared(form: dict[str, Any], value: object, found: str | None) -> None:
    read = read_time(value, field(**form))
    assert (None if read is None else read.isoformat()) == found
    assert read is None or read.utcoffset() == timedelta()


@pytest.mark.parametrize("form", [{"zone": "Europe/Paris"}, {"zone": "+19:00"}, {"epoch": "days"}])
def test_a_form_that_names_no_one_instant_is_refused(form: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        field(**form)


def test_a_number_has_no_zone_and_avro_says_itself_how_times_are_written() -> None:
    with pytest.raises(ValidationError, match="has no zone"):
        field(epoch="seconds", zone="UTC")
    value = {"format": "avro", "version": 1, "fields": {"at": {"type": "timestamp", "epoch": "seconds"}}}
    with pytest.raises(ValidationError, match="in Avro the schema says how 'at' is written"):
        TopicValue.model_validate({**value, "event_time": "at", "arrival_time": "broker"})


@pytest.mark.parametrize(
    ("milliseconds", "read"),
    [
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (1_357_016_400_250, datetime(2013, 1, 1, 5, 0, 0, 250_000, tzinfo=UTC)),
        (None, None),
        (-1, None),
        (10**15, None),
    ],
)
def test_the_broker_s_time_is_in_utc_and_one_that_no_calendar_has_is_none(
    milliseconds: int | None, read: datetime | None
) -> None:
    found = read_broker_time(milliseconds)
    assert found == read
    assert found is None or found.tzinfo is UTC
