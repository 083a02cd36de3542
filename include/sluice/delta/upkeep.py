"""What keeps a table that a stream appends to from growing without end: in files, in its log, and in the kept copy.

A stream that commits every five seconds leaves 17,000 files and as many commits a day. Each reader pays for them, and
so does each commit. So the small files are joined, and what no reader can still be at is removed. All of it is
delta-rs's own work; what is decided here is when, and what is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, WriterProperties
from deltalake.exceptions import DeltaError

from sluice.delta.log import archive_folder, archive_log, forget_kept, newest_first, try_commit
from sluice.delta.reading import open_table
from sluice.delta.table import ensure_table
from sluice.delta.written_files import old_drafts
from sluice.errors import SpecError
from sluice.intervals.entries import StreamEntry
from sluice.storage.folder import Folder, below, files_in, remove_folder

_TARGET_BYTES = 32 * 1024 * 1024
_ROWS_PER_GROUP = 100_000
"""A reader skips groups of rows by their times and offsets, and splits a file between two of them."""
COMPACT = WriterProperties(compression="ZSTD", max_row_group_size=_ROWS_PER_GROUP)
"""How files are written that stay for long."""
TABLE_ERRORS = (DeltaError, OSError, pa.ArrowException)
"""What Delta, Arrow and the storage raise of a table, without saying whether it will be so again."""
_FEWEST_FILES = 16
"""Small files that are worth a commit."""
UNCOMMITTED_HOURS = 7 * 24
"""Delta's own: a writer that was asleep for less may still commit its files."""


@dataclass(frozen=True)
class UpkeepPolicy:
    """When something is done.

    Attributes:
        left_alone: the age that a commit must have before its file is joined with others: settlers and checks are at
            the newest ones. Less than from one round to the next: what a round has joined is seen by the next one.
        kept: how long a version can be read: longer than a check or a backfill takes that has begun at it. Files go by
            whole hours of it.
        removals_known: how long a table's log names a file that left the table: longer than `kept`, by as much as
            upkeep may be late. A file that it names no more is one that no commit names.
        entries_kept: how long the copy keeps entries that are not their writer's newest.
        fewest_commits: commits that are worth cutting the log.
    """

    left_alone: timedelta = timedelta(minutes=20)
    kept: timedelta = timedelta(days=1)
    removals_known: timedelta = timedelta(days=3)
    entries_kept: timedelta = timedelta(days=35)
    fewest_commits: int = 500

    def properties(self) -> dict[str, str]:
        """Return the properties of a table that a stream appends to.

        Only upkeep cuts its log short: it has copied the entries before.
        """
        return {
            "delta.logRetentionDuration": _interval(self.kept),
            "delta.deletedFileRetentionDuration": _interval(self.removals_known),
            "delta.enableExpiredLogCleanup": "false",
        }

    @property
    def hours_kept(self) -> int:
        """The whole hours of `kept`: delta-rs removes files by hours."""
        return int(self.kept / timedelta(hours=1))


def _interval(length: timedelta) -> str:
    return f"interval {int(length.total_seconds())} seconds"


USUAL = UpkeepPolicy()
APPENDED = USUAL.properties()


@dataclass(frozen=True)
class UpkeepDone:
    """What was done to one table.

    Attributes:
        joined: small files that became part of greater ones.
        removed: files that no version has had for longer than they are kept, those of killed writers among them.
        cut: commits that left the log; the copy has their entries.
    """

    joined: int = 0
    removed: int = 0
    cut: int = 0


def total(done: Iterable[UpkeepDone]) -> dict[str, int]:
    """Return what was done to several tables or at several times, by the names of what was counted."""
    counts = [asdict(each) for each in done]
    return {kind.name: sum(each[kind.name] for each in counts) for kind in fields(UpkeepDone)}


def look_after(folder: Folder, now: datetime, *, pinned: bool = False, policy: UpkeepPolicy = USUAL) -> UpkeepDone:
    """Join small files of a table, and remove what is not needed any more. May be repeated, and run beside its writer.

    Args:
        folder: of the table, with the properties of the policy.
        now: the time (UTC).
        pinned: whether somebody may still read a version that is older than the policy keeps them: nothing is removed.
        policy: when something is done.

    Raises:
        NotReadyError: there is no table.
        CorruptionError: its log cannot be read.
    """
    open_table(folder)
    joined = join_small_files(folder, now - policy.left_alone)
    if pinned:
        return UpkeepDone(joined)
    return UpkeepDone(joined, _remove_old_files(folder, now, policy), _cut_log(folder, now, policy))


def join_small_files(folder: Folder, committed_before: datetime) -> int:
    """Join the small files of commits up to a time, and return how many there were; rows and their order stay.

    A live commit wins: appending goes on beside it. Where the table was rewritten or got other columns or properties
    since, nothing is joined.

    Args:
        folder: of the table.
        committed_before: younger files are left alone.
    """
    old = _commits(folder, committed_before)
    if not old:
        return 0
    try:
        table = open_table(folder, max(int(commit.stem) for commit in old))
    except SpecError:  # the log was cut there
        return 0
    sizes = pa.table(table.get_add_actions(flatten=True)).column("size_bytes")
    if int(pc.sum(pc.less(sizes, _TARGET_BYTES)).as_py() or 0) < _FEWEST_FILES:
        return 0
    done: dict[str, Any] = {}
    try_commit(table, lambda: done.update(_compacted(table)))  # it may have been rewritten, or got a column, since
    return int(done.get("numFilesRemoved", 0))


def _compacted(table: DeltaTable) -> dict[str, Any]:
    return table.optimize.compact(
        target_size=_TARGET_BYTES,
        max_concurrent_tasks=1,
        writer_properties=COMPACT,
    )


def _remove_old_files(folder: Folder, now: datetime, policy: UpkeepPolicy) -> int:
    """Remove what no version has had for longer than the policy says, and what killed writers have left long ago."""
    for draft in old_drafts(folder, now - timedelta(hours=UNCOMMITTED_HOURS)):
        remove_folder(draft)
    return vacuumed(folder, policy.hours_kept) + vacuumed(folder, UNCOMMITTED_HOURS, all_files=True)


def vacuumed(folder: Folder, hours: int, *, all_files: bool = False) -> int:
    """Remove files that left the table so many hours ago; of all files also those that never were part of it.

    The hours are fewer than the log names such files (`removals_known`). Were they as many, each checkpoint that a
    writer makes between two rounds would forget what has just become old enough.
    """
    table = DeltaTable(str(folder))
    # Each call leaves two commits, whatever it removes.
    old = table.vacuum(hours, dry_run=True, full=all_files, enforce_retention_duration=False)
    there = below(folder, old)
    if there:
        table.vacuum(hours, dry_run=False, full=all_files, enforce_retention_duration=False)
    return len(there)


def _cut_log(folder: Folder, now: datetime, policy: UpkeepPolicy) -> int:
    """Copy the entries of old commits and remove these, behind a checkpoint that has all that they did.

    The log of a quiet table is left as it is: it grows no more, and whoever asks how far the table goes finds the
    newest batch in it, and not in the copy.
    """
    old = _commits(folder, now - policy.kept)
    if len(old) < policy.fewest_commits or not _has_batch_since(folder, now - policy.kept):
        return 0
    _copy_entries(folder, now, policy)
    _forget_old_commits(folder)
    left = {commit.place for commit in files_in(folder / "_delta_log", ".json")}
    return sum(commit not in left for commit in old)


def _has_batch_since(folder: Folder, time: datetime) -> bool:
    newest = next((logged for logged in newest_first(folder) if isinstance(logged.entry, StreamEntry)), None)
    return newest is not None and newest.at >= time


def _copy_entries(folder: Folder, now: datetime, policy: UpkeepPolicy) -> None:
    archive_log(folder)
    forget_kept(folder, now - policy.entries_kept)
    copy = archive_folder(folder)
    join_small_files(copy, now)
    _remove_old_files(copy, now, policy)
    ensure_table(copy, open_table(copy).schema().to_json(), configuration=policy.properties())
    _forget_old_commits(copy)


def _forget_old_commits(folder: Folder) -> None:
    """Remove the commits that are older than a table's properties say, behind a checkpoint that has all they did."""
    table = DeltaTable(str(folder))
    table.create_checkpoint()
    table.cleanup_metadata()


def _commits(folder: Folder, before: datetime) -> list[Folder]:
    """Return the commits in a log that were made before a time, in no order."""
    log = files_in(folder / "_delta_log", ".json")
    return [commit.place for commit in log if commit.modified < before]
