"""The ledger entries in a Delta table's log, and the copy of them that outlives it.

Delta forgets old commits (after 30 days, when it writes a checkpoint). So an upkeep task copies the entries into a
small Delta table beside the output; a reader of the ledger reads both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import uuid4

from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from sluice.delta.reading import dataset_of, floor_of, open_table
from sluice.delta.versions import commit_file
from sluice.errors import CorruptionError, NotReadyError, UnreachableError
from sluice.intervals.entries import AttemptEntry, Entry, Logged, SettleEntry, StreamEntry, from_json, to_json
from sluice.intervals.reach import RawPosition
from sluice.storage.bucket_folder import BucketFolder, first_line
from sluice.storage.folder import Folder, modified_at

_OF_ATTEMPTS = (AttemptEntry, StreamEntry, SettleEntry)
_AT_ONCE = 32
_TRIES = 3
"""How often an entry is committed at one version that nobody else takes, before its failure is passed on."""
_Commit = tuple[int, datetime, Entry | None]
"""Version, time (UTC) and entry of a commit; None if it is not ours."""


def archive_folder(table: Folder) -> Folder:
    """Return the folder of the table that keeps the entries of `table`."""
    return table.with_name(f"{table.name}_ledger")


def read_log(table: Folder, *, after: int = -1) -> list[Logged]:
    """Return the entries of a table's commits, oldest first; none if there is no table.

    Args:
        table: its folder.
        after: only commits of greater versions.

    Raises:
        CorruptionError: an entry cannot be read, or commits are neither in the log nor in the kept copy.
    """
    commits = _commits(table, after)
    return [Logged(version, at, entry) for version, at, entry in commits if entry is not None]


def newest_first(table: Folder) -> Iterator[Logged]:
    """Yield what `read_log` returns, newest first: a search for something recent reads no long log."""
    newest = _version(table)
    if newest is not None:
        yield from _newest_first(table, newest)


def _newest_first(table: Folder, newest: int) -> Iterator[Logged]:
    below = newest + 1
    for version, at, entry in _in_log(table, newest):
        below = version
        if entry is not None:
            yield Logged(version, at, entry)
    if below == 0:
        return
    for version, at, entry in reversed(_kept(archive_folder(table))):
        if entry is not None and version < below:
            yield Logged(version, at, entry)


def newest_stream_commit(table: Folder, writer: str | None = None) -> tuple[int, StreamEntry] | None:
    """Return version and entry of the newest commit of a stream (of `writer`, if it is named); None before the first.

    A raw table's says how far the table goes.
    """
    for logged in newest_first(table):
        if isinstance(logged.entry, StreamEntry) and writer in (None, logged.entry.writer):
            return logged.version, logged.entry
    return None


def newest_stream_entry(table: Folder, writer: str | None = None) -> StreamEntry | None:
    """Return the entry of `newest_stream_commit`."""
    newest = newest_stream_commit(table, writer)
    return None if newest is None else newest[1]


def newest_standing(table: Folder, writer: str) -> StreamEntry | AttemptEntry | None:
    """Return a writer's newest entry that tells how far it is: of a batch, or of an attempt that records none."""
    for logged in newest_first(table):
        match logged.entry:
            case StreamEntry(writer=own) | AttemptEntry(writer=own, direct=True) if own == writer:
                return logged.entry
    return None


def newest_generation(table: Folder) -> int:
    """Return the generation of the newest attempt that has marked or written a table; 0 if none has."""
    of_attempts = (logged.entry for logged in newest_first(table))
    return next((each.generation for each in of_attempts if isinstance(each, _OF_ATTEMPTS)), 0)


def raw_position(table: Folder) -> RawPosition:
    """Return how far a raw table goes, in the topic that its newest stream has read, and its newest version.

    That of the stream's newest commit may have lost its files: upkeep joins them, and removes what is old.
    """
    opened = _opened(table)
    version = None if opened is None else opened.version()
    logged = () if version is None else _newest_first(table, version)
    newest = next((each.entry for each in logged if isinstance(each.entry, StreamEntry)), None)
    if opened is None or version is None or newest is None:
        return RawPosition()
    return RawPosition(version, newest.reach, newest.holes, newest.times, floor_of(opened))


def has_commit_after(table: Folder, version: int) -> bool:
    """Return whether a table has a newer version than one that it had: for who asks several times a second.

    To open a table, and with it what `raw_position` says, costs some 40 ms of processor time, and `next_version` lists
    all commits of a day.
    """
    return commit_file(table, version + 1).exists()


def _opened(table: Folder) -> DeltaTable | None:
    """Return a table as it is now; None if there is none."""
    try:
        return open_table(table)
    except NotReadyError:
        return None


def _version(table: Folder) -> int | None:
    """Return the newest version of a table; None if there is none."""
    opened = _opened(table)
    return None if opened is None else opened.version()


def append_entry(table: Folder, entry: Entry) -> int:
    """Commit an entry without files, once, and return the version of the commit.

    An answer of a bucket may be lost after the commit was made. A nonce tells that commit from another writer's, so it
    is not made again.

    Raises:
        UnreachableError: the table's log does not answer; whether the entry is in it is unknown.
    """
    return append_to(DeltaTable(str(table)), table, entry)


def append_to(delta: DeltaTable, table: Folder, entry: Entry) -> int:
    """Do the same with a table that is open. Raises what `append_entry` does."""
    nonce, failed = uuid4().hex, 0
    properties = entry_properties(entry, max_retries=0, nonce=nonce)
    while True:
        before = delta.version()
        try:
            write_no_files(delta, properties)
        except (DeltaError, OSError) as error:
            newest = _version_after(delta, table, error)
            for version in range(before + 1, newest + 1):
                if nonce in _text(commit_file(table, version)):
                    return version
            failed = 0 if newest > before else failed + 1
            if failed == _TRIES:
                raise
        else:
            return before + 1


def _version_after(delta: DeltaTable, table: Folder, failed: Exception) -> int:
    """Bring a table up to date after a commit that failed, and return its version."""
    try:
        delta.update_incremental()
    except (DeltaError, OSError) as error:
        raise UnreachableError(
            f"whether an entry was added to the log of {table} is unknown: {first_line(failed)}.",
            fix="see whether what you asked for shows in `sluice intervals list`, then repeat it if it does not.",
        ) from error
    return delta.version()


def entry_properties(
    entry: Entry, *transactions: Transaction, max_retries: int | None = None, nonce: str = ""
) -> CommitProperties:
    """Return what delta-rs writes into a commit that carries an entry.

    Args:
        entry: what the commit says.
        transactions: application transactions that it records.
        max_retries: how often delta-rs takes a later version by itself; None: as often as it likes.
        nonce: says which call makes the commit; empty: nobody asks.
    """
    return CommitProperties(
        custom_metadata={"userMetadata": to_json(entry), **({"nonce": nonce} if nonce else {})},
        app_transactions=list(transactions) or None,
        max_commit_retries=max_retries,
    )


def write_no_files(table: DeltaTable, properties: CommitProperties) -> None:
    """Make one commit without files."""
    table.create_write_transaction([], "append", table.schema(), commit_properties=properties)


def try_commit(table: DeltaTable, write: Callable[[], object]) -> bool:
    """Make one commit; return False if another writer was quicker: `table` is then up to date, and it may be repeated.

    Raises:
        CommitFailedError: it failed, and no other writer was quicker: repeating it would fail for ever.
    """
    before = table.version()
    try:
        write()
    except CommitFailedError:
        table.update_incremental()
        if table.version() == before:
            raise
        return False
    return True


def archive_log(table: Folder) -> int:
    """Copy what is not kept yet, commits without an entry included, and return how many commits that were.

    Each is copied once, whatever becomes of an answer: the copy is made right after the version of it that says what is
    kept, or not at all.
    """
    folder, copied = archive_folder(table), 0
    while True:
        kept = _opened(folder)
        new = _commits(table, after=_newest_kept(folder, kept))
        copied = copied or len(new)
        if not new or _keep(new, folder, kept):
            return copied


def _keep(commits: Sequence[_Commit], folder: Folder, kept: DeltaTable | None) -> bool:
    """Add commits to a copy, or begin it with them; return False if another writer was quicker."""
    import pyarrow as pa  # noqa: PLC0415 - a third of a second, for a command that only reads the log

    schema = pa.schema([("version", pa.int64()), ("at", pa.timestamp("us", tz="UTC")), ("entry", pa.string())])
    columns = [[v for v, _, _ in commits], [at for _, at, _ in commits], [e and to_json(e) for _, _, e in commits]]
    rows, properties = pa.table(columns, schema=schema), CommitProperties(max_commit_retries=0)
    if kept is not None:
        return try_commit(kept, lambda: write_deltalake(kept, rows, mode="append", commit_properties=properties))
    try:
        write_deltalake(str(folder), rows, mode="error", commit_properties=properties)
    except DeltaError:
        if _opened(folder) is None:
            raise
        return False
    return True


def forget_kept(table: Folder, before: datetime) -> int:
    """Delete copies of commits that are older than a time, and return how many; each writer's newest entry stays.

    For a table of which only the newest entries are asked for; of others the copy is the truth.
    """
    folder = archive_folder(table)
    old = [(version, entry) for version, _, entry in _kept(folder, before=before)]
    newest = {entry.writer: version for version, entry in old if isinstance(entry, StreamEntry)}
    gone = {version for version, _ in old} - set(newest.values())
    if gone:
        from sluice.delta.conditions import instant_literal  # noqa: PLC0415 - as in `archive_log`

        stays = "".join(f" AND version != {version}" for version in newest.values())
        DeltaTable(str(folder)).delete(f"at < {instant_literal(before)}{stays}")
    return len(gone)


def _commits(table: Folder, after: int) -> list[_Commit]:
    newest = _version(table)
    if newest is None:
        return []
    kept = _kept(archive_folder(table), after=after)
    known = max((version for version, _, _ in kept), default=after)
    missing = list(_in_log(table, newest, known))[::-1]
    oldest = missing[0][0] if missing else newest + 1
    if oldest > known + 1:
        raise CorruptionError(
            f"{table} has forgotten its commits {known + 1} to {oldest - 1}, and no copy of their ledger entries "
            f"is in {archive_folder(table).name}: who wrote those intervals is unknown.",
            fix="restore the table's log; keep the DAG `keep_ledger` running, it copies them in time.",
        )
    return [*kept, *missing]


def _kept(folder: Folder, *, after: int = -1, before: datetime | None = None) -> list[_Commit]:
    """Return the copies of greater versions than `after`, made before a time if one is given; oldest first."""
    if not DeltaTable.is_deltatable(str(folder)):
        return []
    from pyarrow.dataset import field  # noqa: PLC0415 - as in `archive_log`

    wanted = field("version") > after
    if before is not None:
        wanted &= field("at") < before
    found = dataset_of(folder).to_table(filter=wanted).to_pylist()
    rows = {row["version"]: row for row in found}  # older releases that copied at once kept some twice
    return [(version, row["at"].astimezone(UTC), from_json(row["entry"])) for version, row in sorted(rows.items())]


def _newest_kept(folder: Folder, kept: DeltaTable | None) -> int:
    """Return the newest version of which the opened copy has one; -1 without a copy."""
    if kept is None:
        return -1
    versions = dataset_of(folder, kept.version()).to_table(columns=["version"]).column(0).to_pylist()
    return max(map(int, versions), default=-1)


def _in_log(table: Folder, newest: int, after: int = -1) -> Iterator[_Commit]:
    """Yield the commits that the log still has, newest first: from version `newest` down to the first above `after`.

    Read from the files themselves, whose names are the versions: `DeltaTable.history` counts the versions down from
    the one that was loaded, but lists the commits made since as well, and so is wrong beside any other writer.
    """
    if isinstance(table, BucketFolder):
        yield from _read_ahead(table, newest, after)
        return
    for version in range(newest, after, -1):
        if (commit := _commit_at(table, version)) is None:
            return
        yield commit


def _read_ahead(table: BucketFolder, newest: int, after: int) -> Iterator[_Commit]:
    """Do the same with several requests at once, of some 20 ms each: more at each step, as most searches end soon."""
    step = 1
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        while newest > after:
            versions = range(newest, max(newest - step, after), -1)
            for commit in pool.map(partial(_commit_at, table), versions):
                if commit is None:
                    return
                yield commit
            newest, step = newest - step, min(2 * step, _AT_ONCE)


def _commit_at(table: Folder, version: int) -> _Commit | None:
    """Return the commit that made a version; None if the log has it no more."""
    try:
        return _commit(commit_file(table, version), version)
    except FileNotFoundError:
        return None


def transactions_at(table: Folder, version: int) -> dict[str, int]:
    """Return the application transactions that the commit of a version records.

    Raises:
        FileNotFoundError: the log does not have it any more.
        CorruptionError: it cannot be read.
    """
    file = commit_file(table, version)
    marked = (_action(line, file).get("txn") for line in _lines(file) if '"txn"' in line)
    return {each["appId"]: each["version"] for each in marked if each}


def _commit(file: Folder, version: int) -> _Commit:
    for line in _lines(file):  # the first, as both Spark and delta-rs write it
        if '"commitInfo"' in line and (info := _action(line, file).get("commitInfo")):
            at = datetime.fromtimestamp(info["timestamp"] / 1000, UTC)
            return version, at, from_json(info.get("userMetadata"))
    return version, modified_at(file), None  # another writer's: it may lack one


def _text(file: Folder) -> str:
    return file.read_bytes().decode("utf-8")


def _lines(file: Folder) -> Iterator[str]:
    if isinstance(file, BucketFolder):
        yield from _text(file).splitlines()
        return
    with file.open(encoding="utf-8") as lines:
        yield from lines


def _action(line: str, file: Folder) -> dict[str, Any]:
    try:
        return dict(json.loads(line))
    except (TypeError, ValueError) as error:
        raise CorruptionError(f"{file} holds {line[:80]!r}: {error}.", fix="restore the table's log.") from error
