from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from sluice.streams.last_report import last_report


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
