"""The audit log: acts are appended whole by any number of processes, torn lines are said, and the files are bounded."""

from __future__ import annotations

import json
import multiprocessing
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sluice.audit.act import Act, ActOutcome
from sluice.audit.log import AuditLog
from sluice.errors import NotReadyError
from tests.twins.clock import START

ACT = Act("a1", START, "ada", "command line", "local", "streams stop", {"unit": "flights"})
ENDED = replace(ACT, outcome=ActOutcome.DONE, ended=START + timedelta(seconds=3))


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    return AuditLog(tmp_path / "audit")


def test_an_act_is_open_until_its_end_is_on_record(log: AuditLog) -> None:
    log.append(ACT)
    assert log.read().acts == (ACT,)
    log.append(ENDED)
    assert log.read().acts == (ENDED,)
    log.append(ACT)  # a task that went on after it had waited begins once more
    assert log.read().acts == (ENDED,)


def test_before_the_first_act_there_is_nothing_and_reading_makes_no_file(log: AuditLog, tmp_path: Path) -> None:
    assert log.read().acts == ()
    assert list(tmp_path.iterdir()) == []


def test_without_a_state_folder_nothing_is_made(tmp_path: Path) -> None:
    AuditLog(tmp_path / "state" / "audit").append(ACT)
    assert list(tmp_path.iterdir()) == []


def test_only_its_owner_can_read_it(log: AuditLog) -> None:
    log.append(ACT)
    (file,) = log.folder.iterdir()
    assert (log.folder.stat().st_mode & 0o077, file.stat().st_mode & 0o077) == (0, 0)


TEXT = st.text(max_size=30)
TIMES = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
any_act = st.builds(
    Act,
    id=st.uuids().map(str),
    at=TIMES,
    who=TEXT,
    through=TEXT,
    deployment=TEXT,
    what=TEXT,
    arguments=st.dictionaries(TEXT, TEXT, max_size=3),
    outcome=st.sampled_from(ActOutcome),
    ended=st.none() | TIMES,
    detail=TEXT,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=st.lists(any_act, min_size=1, max_size=5, unique_by=lambda act: act.id))
def test_any_text_is_one_line(tmp_path: Path, acts: list[Act]) -> None:
    log = AuditLog(tmp_path / str(len(list(tmp_path.iterdir()))))
    for act in acts:
        log.append(act)
    assert {act.id: act for act in log.read().acts} == {act.id: act for act in acts}
    assert log.read().notes == ()


def test_a_torn_last_line_is_skipped_and_said_and_costs_no_other(log: AuditLog) -> None:
    log.append(ACT)
    log.append(replace(ACT, id="a2"))
    (file,) = log.folder.iterdir()
    file.write_bytes(file.read_bytes()[:-20])
    assert log.read().notes == ("audit-00000001.jsonl:2 is torn or no act; it was left out.",)
    log.append(replace(ACT, id="a3"))
    assert [act.id for act in log.read().acts] == ["a1", "a3"]
    assert log.read().notes == ("audit-00000001.jsonl:2 is torn or no act; it was left out.",)


@pytest.mark.parametrize(
    "line",
    [b"\xff\xfe", b"null", b"[]", b'"a"', b"{}", b"[" * 100_000, b'{"id": 7}'],
    ids=["bytes", "null", "list", "text", "object", "deep", "fields"],
)
def test_a_line_that_is_no_act_is_a_note(log: AuditLog, line: bytes) -> None:
    log.append(ACT)
    (file,) = log.folder.iterdir()
    file.write_bytes(line + b"\n" + file.read_bytes())
    assert log.read().acts == (ACT,)
    assert log.read().notes == ("audit-00000001.jsonl:1 is torn or no act; it was left out.",)


def test_a_time_without_a_zone_is_no_act(log: AuditLog) -> None:
    log.append(ACT)
    (file,) = log.folder.iterdir()
    file.write_text(json.dumps({**ACT.as_dict(), "at": "2013-01-07T12:00:00"}) + "\n")
    assert (log.read().acts, len(log.read().notes)) == ((), 1)


def test_files_are_bounded_in_size_and_number_and_the_newest_acts_stay(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit", file_bytes=2000, files=3)
    for n in range(100):
        log.append(replace(ACT, id=f"a{n:03}", at=START + timedelta(seconds=n)))
    files = sorted(log.folder.iterdir())
    assert len(files) == 3
    assert all(file.stat().st_size < 2000 + 400 for file in files)
    kept = [act.id for act in log.read().acts]
    assert kept == [f"a{n:03}" for n in range(100)][-len(kept) :]
    assert len(kept) > 10


def _append_many(folder: Path, name: int, start: object) -> None:
    start.wait()  # type: ignore[attr-defined]  # a barrier of processes has no type of its own
    log = AuditLog(folder, file_bytes=20_000, files=100)
    for n in range(50):
        log.append(replace(ACT, id=f"p{name}-{n}", detail="x" * (n * 7)))


def test_acts_of_several_processes_at_once_are_all_there_and_whole(tmp_path: Path) -> None:
    folder, spawned = tmp_path / "audit", multiprocessing.get_context("fork")
    start = spawned.Barrier(4)
    processes = [spawned.Process(target=_append_many, args=(folder, name, start)) for name in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    found = AuditLog(folder).read()
    assert {act.id for act in found.acts} == {f"p{name}-{n}" for name in range(4) for n in range(50)}
    assert found.notes == ()
    assert len(list(folder.iterdir())) > 1


def test_a_line_is_one_write(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    write = os.write

    def spy(file: int, data: bytes) -> int:
        written.append(bytes(data))
        return write(file, data)

    monkeypatch.setattr(os, "write", spy)
    log.append(replace(ACT, detail="x" * 100_000))
    assert len(written) == 1


def test_a_disk_that_takes_nothing_is_an_error_that_says_so(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(NotReadyError, match=r"cannot be written: No space left.*free some space"):
        log.append(ACT)
