"""The second pipeline of the how-to page to its end: a real stack, a real stream, and the sums that the text shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.devstack.airflow.api import AirflowApi, watching
from tests.e2e.machine import Machine
from tests.waiting import eventually
from tests.walkthrough import HOME, File, Reader, steps

pytestmark = [pytest.mark.verify, pytest.mark.timeout(900)]


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    reader = Reader.in_copy(tmp_path / "project")
    monkeypatch.setenv("SLUICE_HOME", str(reader.home))
    yield reader
    reader.run(".venv/bin/sluice down")


def test_a_pipeline_added_by_the_text_runs_and_its_sums_are_those_of_the_text(reader: Reader) -> None:
    *files, _trial, start, result = steps(HOME / "docs" / "how-to" / "add-a-pipeline.md", "Write it, try it, start it")
    for file in files:
        assert isinstance(file, File)
        reader.write(file)
    assert isinstance(start, tuple)
    assert isinstance(result, tuple)
    reader.follow(start)
    (table,) = result
    eventually(lambda: table.agrees(reader.run(table.text).stdout))
    reader.follow(result)

    machine = Machine(reader.state)
    api = AirflowApi(machine.ask("status")["stack"]["airflow"])
    api.wait("stream_routes", api.trigger("stream_routes"), watching, 120)
    assert [attempt["generation"] for attempt in machine.ask("streams", "show", "routes")["attempts"]] == [1]
    reader.run(".venv/bin/sluice down")
    assert machine.processes() == []
