"""What 20,000 commits leave behind in a raw table that is looked after: files, time of a commit, memory.

Time is compressed: 360 commits, which take half an hour at the default trigger, are followed by what the DAG
`compact_tables` does each half hour, and the log is kept for as long as 2,880 commits take (four hours) instead of a
day. Files are joined and go at once, because delta-rs keeps them by whole hours. Levels are medians over the tenth in
the middle of the run and the last tenth.

`files_growth`: files in the folder of the table and of its copied entries, the last level ÷ the one in the middle.
`commit_ms_growth`: the same of the median time of a commit. `rss_growth`: of this process's memory.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
from deltalake import Schema

from benchmarks.trials import TrialError
from sluice.delta.log import archive_folder
from sluice.delta.reading import dataset_of
from sluice.delta.table import ensure_table
from sluice.delta.upkeep import UpkeepDone, UpkeepPolicy, look_after, total
from sluice.delta.writer_log import WriterLog
from sluice.intervals.entries import StreamEntry

_COMMITS = {"full": 20_000, "small": 3_000}
_ROWS = 20
_PARTITIONS = 4
_HALF_HOUR = 360
_KEPT_HALF_HOURS = 8
_WARM_HALF_HOURS = 4
"""How long half an hour takes, is known after so many."""
_WRITER = "raw_events:id:0"
_START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Seen:
    """What was seen at one moment, or of one stretch of commits.

    Attributes:
        files: in the folders, of data and logs, before upkeep.
        commit_ms: median time of the commits since the last moment.
        rss_mb: memory of this process.
        upkeep_s: what upkeep took then.
        done: by it.
    """

    files: int
    commit_ms: float
    rss_mb: float
    upkeep_s: float
    done: UpkeepDone


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the growth of each level, and the levels.

    Raises:
        TrialError: a row was lost or is there twice.
    """
    commits = _COMMITS[size]
    with tempfile.TemporaryDirectory(prefix="sluice-months-") as root:
        table = Path(root) / "events_raw"
        seen = _written(table, commits)
        wrong = _wrong_offsets(table, commits)
    if wrong:
        raise TrialError(f"{wrong} offsets are missing or there twice")
    middle, last = seen[len(seen) * 4 // 10 : len(seen) // 2], seen[len(seen) * 9 // 10 :]
    levels = {name: (_level(middle, name), _level(last, name)) for name in ("files", "commit_ms", "rss_mb")}
    growth = {name: round(after / before, 3) for name, (before, after) in levels.items()}
    figures = {
        "commits": commits,
        "files_growth": growth["files"],
        "commit_ms_growth": growth["commit_ms"],
        "rss_growth": growth["rss_mb"],
        "wrong_offsets": wrong,
    }
    return figures, {"size": size, "levels": levels, "upkeep": _summed(seen)}


def _written(table: Path, commits: int) -> list[Seen]:
    """Commit a batch after the other, with upkeep each half hour, and return what was seen before each upkeep."""
    ensure_table(table, _schema(), configuration=UpkeepPolicy().properties())
    log = WriterLog(table, _WRITER, 1)
    log.open()
    seen: list[Seen] = []
    begun: list[float] = []
    for first in range(0, commits, _HALF_HOUR):
        begun.append(time.perf_counter())
        times = [_commit(log, number) for number in range(first, min(first + _HALF_HOUR, commits))]
        levels = _files(table), median(times) * 1000, _rss_mb()
        policy = _compressed(begun)
        ensure_table(table, _schema(), configuration=policy.properties())
        since = time.perf_counter()
        done = look_after(table, datetime.now(UTC), policy=policy)
        seen.append(Seen(*levels, time.perf_counter() - since, done))
    return seen


def _compressed(begun: Sequence[float]) -> UpkeepPolicy:
    """Return the policy by how long half an hour took of late: a machine is not always equally quick."""
    if len(begun) <= _WARM_HALF_HOURS:
        return UpkeepPolicy()
    late = begun[-_KEPT_HALF_HOURS - 1 :]
    half_hour = timedelta(seconds=(late[-1] - late[0]) / (len(late) - 1))
    kept = _KEPT_HALF_HOURS * half_hour
    return UpkeepPolicy(timedelta(0), kept, removals_known=2 * kept, entries_kept=2 * kept)


def _commit(log: WriterLog, number: int) -> float:
    """Commit a batch of five records of each partition, as a raw stream does, and return the seconds that it took."""
    each = _ROWS // _PARTITIONS
    ends = {f"events/{partition}": (number + 1) * each for partition in range(_PARTITIONS)}
    starts = {partition: end - each for partition, end in ends.items()}
    entry = StreamEntry(_WRITER, 1, "a", number, starts, ends)
    rows, begun = _rows(number), time.perf_counter()
    log.append(rows, entry, sum(ends.values()) * 2)
    return time.perf_counter() - begun


def _rows(number: int) -> pa.Table:
    each = _ROWS // _PARTITIONS
    at = _START + timedelta(seconds=5 * number)
    return pa.table(
        {
            "partition": pa.array([p for p in range(_PARTITIONS) for _ in range(each)], pa.int32()),
            "offset": pa.array([number * each + n for _ in range(_PARTITIONS) for n in range(each)], pa.int64()),
            "value": pa.array([os.urandom(200) for _ in range(_ROWS)], pa.binary()),
            "event_time": pa.array([at] * _ROWS, pa.timestamp("us", "UTC")),
        }
    )


def _schema() -> str:
    return Schema.from_arrow(_rows(0).schema).to_json()


def _wrong_offsets(table: Path, commits: int) -> int:
    """Return how many offsets are not there once."""
    rows = dataset_of(table).to_table(columns=["partition", "offset"]).to_pylist()
    found = sorted((row["partition"], row["offset"]) for row in rows)
    wanted = [(p, offset) for p in range(_PARTITIONS) for offset in range(commits * _ROWS // _PARTITIONS)]
    return len(set(wanted) - set(found)) + len(found) - len(set(found))


def _files(table: Path) -> int:
    return sum(len(files) for folder in (table, archive_folder(table)) for _, _, files in os.walk(folder))


def _rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _level(seen: Sequence[Seen], name: str) -> float:
    return round(median(getattr(moment, name) for moment in seen), 2)


def _summed(seen: Sequence[Seen]) -> dict[str, Any]:
    return {
        "rounds": len(seen),
        "seconds_max": round(max(moment.upkeep_s for moment in seen), 2),
        **total(moment.done for moment in seen),
    }
