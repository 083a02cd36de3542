"""A folder as a live source: the files that come into it, one record after the other."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

from pydantic import JsonValue

from sluice.clock import Clock
from sluice.errors import RefusedError
from sluice.feeds.following.file_records import UnreadableFileError, file_records
from sluice.feeds.following.folder_files import CompleteFiles, FileMark, FolderCursor
from sluice.feeds.following.ports import DisconnectedError, ReceivedEvent
from sluice.specs.feeds.live import FolderSpec
from sluice.specs.model.model import ValueField

_BATCH = 200
_FORGOTTEN_SECONDS = 300.0
"""So long after a file was seen last it is forgotten: a folder of another machine may be away for a moment."""
_GZIP = b"\x1f\x8b"


class FolderSource:
    """Implements `sluice.feeds.following.ports.EventSource`."""

    def __init__(
        self,
        folder: Path,
        spec: FolderSpec,
        fields: Mapping[str, ValueField],
        clock: Clock,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Name the folder.

        Args:
            folder: it need not be there yet.
            spec: which files are meant, and how they are written.
            fields: how the topic declares its fields.
            clock: says how long a file has not changed.
            tell: gets a sentence about each file that is begun.
        """
        self._folder, self._spec, self._fields, self._clock, self._tell = folder, spec, fields, clock, tell

    def open(self, cursor: JsonValue) -> FolderConnection:
        """Go on with the record behind a cursor.

        Raises:
            DisconnectedError: there is no such folder now.
            RefusedError: the file that was being read is not there as it was.
        """
        before = FolderCursor.read(cursor)
        connection = FolderConnection(self._folder, self._spec, self._fields, self._clock, self._tell, before)
        if not before.last and connection.found().get(before.file) != before.mark:
            raise _changed(self._folder / before.file, before.line)
        return connection


class FolderConnection:
    """Implements `sluice.feeds.following.ports.EventConnection`."""

    def __init__(  # noqa: PLR0917  of its source
        self,
        folder: Path,
        spec: FolderSpec,
        fields: Mapping[str, ValueField],
        clock: Clock,
        tell: Callable[[str], None],
        cursor: FolderCursor,
    ) -> None:
        self._folder, self._spec, self._fields, self._clock, self._tell = folder, spec, fields, clock, tell
        self._cursor = cursor
        self._files = CompleteFiles(spec.pattern, spec.complete_after.total_seconds())
        self._open = ExitStack()
        self._events: Iterator[ReceivedEvent] = iter(())
        self._refusal: RefusedError | None = None
        self._gone: dict[str, float] = {}
        if not cursor.last:
            self._events = self._read(cursor.file, cursor.mark, cursor.line)

    def receive(self, seconds: float) -> Sequence[ReceivedEvent]:
        """Return the next records; after so long without a complete file none.

        Raises:
            DisconnectedError: the folder cannot be read now.
            RefusedError: a file cannot be read, or has changed; what came before that was returned.
        """
        if batch := self._batch():
            return batch
        found = self.found()
        sent = self._remembered(found)
        self._cursor = replace(self._cursor, sent=sent, file="", last=True)
        waiting = {name: mark for name, mark in found.items() if sent.get(name) != list(mark)}
        if names := self._files.complete(waiting, self._clock.monotonic()):
            self._tell(f"{self._folder / names[0]} is complete, and is sent.")
            self._events = self._read(names[0], found[names[0]], 0)
            return self._batch()
        self._clock.sleep(seconds)
        return []

    def close(self) -> None:
        """Close the file that is being read."""
        self._open.close()

    def found(self) -> dict[str, FileMark]:
        """Return the files in the folder that are meant.

        Raises:
            DisconnectedError: it cannot be read.
        """
        try:
            with os.scandir(self._folder) as entries:
                files = [entry for entry in entries if self._files.meant(entry.name) and entry.is_file()]
                return {entry.name: _mark(entry.stat()) for entry in files}
        except OSError as error:
            raise DisconnectedError(f"The folder {self._folder} cannot be read: {error.strerror}.") from error

    def _batch(self) -> list[ReceivedEvent]:
        """Return the next records of the file that is being read; one that ends it is told when they are sent."""
        if self._refusal is not None:
            raise self._refusal
        batch: list[ReceivedEvent] = []
        try:
            batch.extend(islice(self._events, _BATCH))  # keeps what comes before an error
        except RefusedError as error:
            self._refusal = error
            if not batch:
                raise
        return batch

    def _remembered(self, found: Collection[str]) -> dict[str, JsonValue]:
        """Return the marks of the files that were sent, without those that have not been there for long."""
        now, finished = self._clock.monotonic(), self._cursor.finished()
        self._gone = {name: self._gone.get(name, now) for name in finished if name not in found}
        return {name: mark for name, mark in finished.items() if now - self._gone.get(name, now) < _FORGOTTEN_SECONDS}

    def _read(self, name: str, mark: FileMark, skipped: int) -> Iterator[ReceivedEvent]:
        """Yield the records of a file but for the first ones; then it is finished, also if it has none.

        Raises:
            RefusedError: it cannot be read, or has changed since it was listed. Before anything of it was sent, such a
                one is left to the next listing.
        """
        cursor = replace(self._cursor, sent=self._cursor.finished(), file=name, mark=mark)
        path, sent = self._folder / name, skipped
        with self._open:
            try:
                file = self._open.enter_context(path.open("rb"))
                records = islice(file_records(self._unpacked(file), self._spec, self._fields), skipped, None)
                for value, last in _with_last(records):
                    if (
                        _mark(os.fstat(file.fileno())) != mark
                    ):  # what was appended would come again, with the file as it is then
                        if sent:
                            raise _changed(path, sent)
                        return
                    sent += 1
                    yield ReceivedEvent(value, replace(cursor, line=sent, last=last).written())
            except (OSError, EOFError, zlib.error, UnreadableFileError) as error:
                raise _damaged(path, sent, error) from error
        self._cursor = replace(cursor, last=True)

    def _unpacked(self, file: BinaryIO) -> BinaryIO:
        packed = file.read(len(_GZIP)) == _GZIP
        file.seek(0)
        return cast("BinaryIO", self._open.enter_context(gzip.open(file))) if packed else file


def _mark(state: os.stat_result) -> FileMark:
    return state.st_size, state.st_mtime_ns


def _changed(path: Path, sent: int) -> RefusedError:
    return RefusedError(
        f"{path} was removed or changed after {sent:,} of its records were sent, so the others cannot be sent.",
        fix="put it back as it was; or give up the rest of it with `sluice feed follow … --from-now`.",
    )


def _damaged(path: Path, sent: int, error: Exception) -> RefusedError:
    why = f"{path} cannot be read to its end: {error}"
    if not sent:
        return RefusedError(
            f"{why}.", fix="move it away; a complete copy under another name is sent from its beginning."
        )
    return RefusedError(
        f"{why}. {sent:,} of its records were sent.",
        fix="give up the rest of it with `sluice feed follow … --from-now`; a complete copy under another name is sent "
        "from its beginning, with those that were sent.",
    )


def _with_last(records: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield each record, and whether it is the last one."""
    for first in records:
        before = first
        for each in records:
            yield before, False
            before = each
        yield before, True
