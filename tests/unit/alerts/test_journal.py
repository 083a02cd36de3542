from __future__ import annotations

import errno
import fcntl
import json
import multiprocessing
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sluice.alerts.alert import Alert
from sluice.alerts.delivery import AlertHistory, Delivery, DeliveryOutcome
from sluice.alerts.journal import Journal
from sluice.errors import NotReadyError, UnreachableError
from sluice.specs.model.alerting import AlertClass
from tests.twins.clock import ManualClock
from tests.unit.alerts.examples import NOW, any_alert, make_alert


def passing(name: str) -> Alert:
    """Return an alert that begins no incident."""
    return make_alert(name, alert_class=AlertClass.TEST)


DELIVERED = Delivery("a1", NOW, DeliveryOutcome.DELIVERED, "delivered to JSON.")


def test_what_is_put_on_record_is_read_back_in_order(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "alerts")
    for record in (make_alert("a1"), DELIVERED, make_alert("a2")):
        journal.append(record)

    assert Journal(tmp_path / "alerts").read() == AlertHistory((make_alert("a1"), make_alert("a2")), {"a1": DELIVERED})


def test_before_the_first_record_there_is_nothing_and_reading_makes_no_file(tmp_path: Path) -> None:
    assert Journal(tmp_path / "alerts").read() == AlertHistory()
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=settings().max_examples // 3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(alerts=st.lists(any_alert(), min_size=1, max_size=5))
def test_any_text_is_one_line(tmp_path: Path, alerts: list[Alert]) -> None:
    journal = Journal(tmp_path / str(len(list(tmp_path.iterdir()))))
    for alert in alerts:
        journal.append(alert)

    assert journal.read() == AlertHistory(tuple(alerts))


def test_a_torn_last_line_costs_no_other_and_is_told(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(make_alert("a1"))
    journal.append(make_alert("a2"))
    (file,) = tmp_path.glob("*.jsonl")
    file.write_bytes(file.read_bytes()[:-20])

    journal.append(make_alert("a3"))

    history = journal.read()
    assert [alert.id for alert in history.alerts] == ["a1", "a3"]
    assert list(history.notes) == ["journal-00000001.jsonl:2 is torn or no record; it was left out."]


@pytest.mark.parametrize("line", ["nonsense", "[]", '{"alert": {}}', '{"alert": 1}', '{"news": {}}', "\x00\x00", "é"])
def test_a_line_that_is_no_record_is_told(tmp_path: Path, line: str) -> None:
    journal = Journal(tmp_path)
    journal.append(make_alert("a1"))
    (file,) = tmp_path.glob("*.jsonl")
    file.write_bytes(line.encode("latin-1") + b"\n" + file.read_bytes())

    history = journal.read()

    assert [alert.id for alert in history.alerts] == ["a1"]
    assert len(history.notes) == 1


def test_it_is_bounded_and_says_what_made_room(tmp_path: Path) -> None:
    line = len(json.dumps({"alert": passing("a00").as_dict()})) + 1
    journal = Journal(tmp_path, file_bytes=2 * line, files=3)
    for number in range(20):
        journal.append(passing(f"a{number:02}"))

    history = journal.read()
    kept = [alert.id for alert in history.alerts]
    assert len(list(tmp_path.glob("*.jsonl"))) == 3
    assert kept == [f"a{number:02}" for number in range(20 - len(kept), 20)]
    (note,) = history.notes
    assert note.startswith(f"{20 - len(kept)} older alerts, 2026-11-05T10:00:00+00:00 to ")


def test_a_reader_needs_no_right_to_write(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(alert := make_alert())
    lock = tmp_path / "lock"
    lock.unlink()
    lock.symlink_to(Path(sys.executable).resolve())  # nobody may write a program that runs, not even root
    with pytest.raises(NotReadyError):
        journal.append(make_alert())
    assert journal.read() == AlertHistory((alert,), {})


def test_nobody_else_on_the_machine_may_read_it(tmp_path: Path) -> None:
    Journal(tmp_path).append(make_alert())
    (file,) = tmp_path.glob("*.jsonl")
    assert file.stat().st_mode & 0o077 == 0


def test_processes_that_write_at_once_lose_and_tear_nothing(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("fork")
    writers = [spawn.Process(target=write_many, args=(tmp_path, name)) for name in "xyz"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(30)

    history = Journal(tmp_path, files=1_000).read()
    assert history.notes == ()
    assert sorted(alert.id for alert in history.alerts) == sorted(f"{w}{n:02}" for w in "xyz" for n in range(30))


def write_many(folder: Path, name: str) -> None:
    journal = Journal(folder, file_bytes=5_000, files=1_000)
    for number in range(30):
        journal.append(make_alert(f"{name}{number:02}"))


def test_a_lock_that_is_never_released_is_told_and_not_waited_for_for_ever(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with (tmp_path / "lock").open("a+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(UnreachableError, match=r"kept .*lock locked for 10 s.*Fix"):
            Journal(tmp_path, clock=clock).append(make_alert())


def test_a_folder_that_takes_nothing_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "alerts").write_text("")
    with pytest.raises(NotReadyError, match=r"cannot be written: File exists\. Fix: free some space"):
        Journal(tmp_path / "alerts").append(make_alert())


def test_of_processes_that_would_put_the_same_on_record_one_does(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("fork")
    writers = [spawn.Process(target=claim_many, args=(tmp_path,)) for _ in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(30)
    assert [alert.id for alert in Journal(tmp_path).read().alerts] == [f"a{n:02}" for n in range(20)]


def claim_many(folder: Path) -> None:
    for number in range(20):
        claimed = make_alert(f"a{number:02}")
        Journal(folder).append_unless(claimed, lambda history, mine=claimed: mine in history.alerts)  # type: ignore[misc]


def test_what_is_known_is_not_put_on_record_and_that_is_said(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    assert journal.append_unless(make_alert("a1"), None)
    assert not journal.append_unless(make_alert("a2"), lambda history: len(history.alerts) == 1)
    assert [alert.id for alert in journal.read().alerts] == ["a1"]


def test_a_full_disk_takes_what_room_was_kept_for_and_keeps_room_again_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path)
    journal.append(make_alert("a1"))
    (reserve,) = set(tmp_path.iterdir()) - set(tmp_path.glob("*.jsonl")) - {tmp_path / "lock"}
    assert reserve.stat().st_size >= 50 * len(json.dumps({"alert": make_alert("a1").as_dict()}))

    write = os.write

    def full(file: int, data: bytes) -> int:
        if reserve.exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        journal.append(make_alert("a2"))
        assert not reserve.exists()
        patch.setattr(Path, "write_bytes", lambda *_: full(-1, b""))
        patch.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left on device")))
        with pytest.raises(NotReadyError, match="No space left"):
            journal.append(make_alert("a3"))
    journal.append(make_alert("a4"))
    assert reserve.exists()
    assert [alert.id for alert in journal.read().alerts] == ["a1", "a2", "a4"]
