from __future__ import annotations

import fcntl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread

import pytest

from sluice.clock import SystemClock
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.backfills import BackfillState, OverlapError
from sluice.intervals.backfill.request import Mode, Request
from sluice.launch.backfill_claim import claimed
from sluice.launch.backfill_lock import LOCK, BackfillLock
from tests.twins.backfills import InMemoryBackfills

START = datetime(2013, 1, 1, tzinfo=UTC)
REQUEST = Request("departures", Interval(START, START + timedelta(days=1)), Mode.VERIFY, "tests")


def test_a_claimed_backfill_lives_until_the_block_ends(tmp_path: Path) -> None:
    record = InMemoryBackfills(SystemClock())
    with claimed(record, tmp_path, REQUEST, "one") as working:
        assert BackfillLock(tmp_path / working.id).held()
        with pytest.raises(OverlapError, match=working.id), claimed(record, tmp_path, REQUEST, "two"):
            pass
    assert not BackfillLock(tmp_path / working.id).held()
    with claimed(record, tmp_path, REQUEST, "two"):
        assert record.get(working.id).state is BackfillState.FAILED


def test_whoever_checks_the_lock_does_not_keep_the_claim_from_its_work(tmp_path: Path) -> None:
    record = InMemoryBackfills(SystemClock())
    with claimed(record, tmp_path, REQUEST, "one") as first:
        record.end(first.id, BackfillState.FAILED, outcome="", why="")
    reader = (tmp_path / first.id / LOCK).open("rb")
    fcntl.flock(reader, fcntl.LOCK_SH)
    held: list[bool] = []

    def claim_again() -> None:
        with claimed(record, tmp_path, REQUEST, "one") as again:
            held.append(BackfillLock(tmp_path / again.id).held())

    claiming = Thread(target=claim_again)
    claiming.start()
    claiming.join(timeout=0.1)
    assert held == []
    reader.close()
    claiming.join()
    assert held == [True]
