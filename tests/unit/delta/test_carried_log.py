"""States that intervals have handed on are kept as long as declared, and no longer."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sluice.delta.carried_log import forget_states
from sluice.intervals.alignment import Interval
from sluice.intervals.carried import Carried
from sluice.intervals.entries import Content
from sluice.intervals.ledger import LedgerRow, Written

DAY = timedelta(days=1)
NOW = datetime(2026, 3, 1, tzinfo=UTC)
KEEP = {"balances": 3 * DAY}


def row(days_ago: int, before: str, after: str) -> LedgerRow:
    start = NOW - days_ago * DAY
    carried = Carried({"balances": before} if before else {}, {"balances": after})
    written = Written("settle:x", 1, 1, start, {}, "c", Content(1, "1"), carried=carried)
    return LedgerRow(Interval(start, start + DAY), written, written)


def state(folder: Path, digest: str, *, age: timedelta = 2 * DAY) -> Path:
    path = folder / "balances" / f"{digest}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"rows")
    at = (NOW - age).timestamp()
    os.utime(path, (at, at))
    return path


def test_states_are_kept_that_a_young_interval_continues_or_leaves(tmp_path: Path) -> None:
    kept = [state(tmp_path, digest) for digest in ("c", "d", "e")]
    old = [state(tmp_path, digest) for digest in ("a", "b")]
    rows = [row(7, "", "a"), row(6, "a", "b"), row(5, "b", "c"), row(2, "c", "d"), row(1, "d", "e")]
    assert forget_states(tmp_path, rows, KEEP, NOW) == 2
    assert [path.exists() for path in (*kept, *old)] == [True, True, True, False, False]


def test_an_interval_of_the_future_makes_no_state_old(tmp_path: Path) -> None:
    kept = [state(tmp_path, digest) for digest in ("b", "c", "d", "future")]
    old = state(tmp_path, "a")
    rows = [row(6, "", "a"), row(5, "a", "b"), row(2, "b", "c"), row(1, "c", "d"), row(-2_000, "d", "future")]
    assert forget_states(tmp_path, rows, KEEP, NOW) == 1
    assert [path.exists() for path in (*kept, old)] == [True, True, True, True, False]
    assert forget_states(tmp_path, rows[-1:], KEEP, NOW) == 2, "alone it keeps what it names"
    assert [path.exists() for path in kept] == [False, False, True, True]


def test_a_state_whose_commit_may_be_under_way_stays_and_a_draft_of_long_ago_goes(tmp_path: Path) -> None:
    young = state(tmp_path, "x", age=timedelta(hours=1))
    drafts = [tmp_path / "balances" / name for name in (".young", ".old")]
    for draft in drafts:
        draft.mkdir()
    at = (NOW - 2 * DAY).timestamp()
    os.utime(drafts[0], (NOW.timestamp(), NOW.timestamp()))
    os.utime(drafts[1], (at, at))
    assert forget_states(tmp_path, [], KEEP, NOW) == 0
    assert [path.exists() for path in (young, *drafts)] == [True, True, False]
