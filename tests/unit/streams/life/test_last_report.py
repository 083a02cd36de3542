from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sluice.streams.failures.failure import Failure, FailureClass, to_record
from sluice.streams.life.driver_files import ended_alone, last_report


def test_the_time_in_the_progress_file_is_the_drivers_last_word(tmp_path: Path) -> None:
    file = tmp_path / "departures.json"
    file.write_text('{"at": "2013-01-07T12:00:00.001Z", "rows": 0}')
    assert last_report(file) == datetime(2013, 1, 7, 12, 0, 0, 1000, tzinfo=UTC)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"at": 5}', '{"at": "soon"}'])
def test_what_cannot_be_read_says_nothing(tmp_path: Path, content: str) -> None:
    file = tmp_path / "departures.json"
    file.write_text(content)
    assert last_report(file) is None


def test_no_file_says_nothing(tmp_path: Path) -> None:
    assert last_report(tmp_path / "nowhere.json") is None


def test_why_a_stream_has_ended_alone_is_believed_of_the_driver_that_lives(tmp_path: Path) -> None:
    file = tmp_path / "departures.json"
    drift = Failure(FailureClass.SCHEMA_DRIFT, "SchemaDriftError", "80 of 100", datetime(2013, 1, 7, tzinfo=UTC))
    assert ended_alone(file, 3) is None
    for said in ("no JSON", "[]", '{"generation": 3}', '{"generation": 3, "ended": "yesterday"}'):
        file.write_text(said)
        assert ended_alone(file, 3) is None
    file.write_text(json.dumps({"generation": 3, "ended": to_record(drift)}))
    assert ended_alone(file, 3) == drift
    assert ended_alone(file, 4) is None
