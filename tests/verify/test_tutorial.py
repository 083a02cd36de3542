"""The tutorial, followed word by word on a real stack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import eventually
from tests.walkthrough import HOME, Reader, Session, steps

pytestmark = [pytest.mark.verify, pytest.mark.timeout(900)]


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    reader = Reader.in_copy(tmp_path / "project")
    monkeypatch.setenv("SLUICE_HOME", str(reader.home))
    yield reader
    reader.run(".venv/bin/sluice down")


def test_the_tutorial_ends_as_it_says(reader: Reader) -> None:
    sessions = steps(HOME / "docs" / "tutorial.md", "Follow it")
    assert len(sessions) == 10
    for session in sessions:
        assert isinstance(session, tuple)
        _wait_for_tables(reader, session)
        reader.follow(session)


def _wait_for_tables(reader: Reader, session: Session) -> None:
    """Wait until what the stream writes is there: the text says that it takes half a minute."""
    (first, *_) = session
    if "sluice sql" in first.text:
        eventually(lambda: first.agrees(reader.run(first.text).stdout), first.text)
