"""The journal of alerts: JSON lines on disk. An alert is recorded there before it is sent.

Invariants:
* a record is on disk when `append` returns, whole, even if other processes write at that moment;
* a line that a crash has torn costs no other line, and reading says where it is;
* the files are bounded, and alerts that were removed are counted in the journal itself;
* what open incidents rest on outlasts its file: it is in the next one before the old one is removed;
* a full disk takes some fifty more records, in the room of a file that is kept for that.
"""

from __future__ import annotations

import errno
import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sluice.alerts.alert import Alert
from sluice.alerts.delivery import AlertHistory, Delivery
from sluice.alerts.keeping import carried_lines, shortened
from sluice.alerts.record import CarriedRecord, Forgotten, Record, Torn, line_of, records
from sluice.alerts.runs import RunCount
from sluice.clock import Clock, SystemClock
from sluice.disk import NumberedFiles, append_line, replacing, sync_folder
from sluice.errors import NotReadyError, UnreachableError

_FILE_BYTES = 1024 * 1024
"""Some 500 alerts."""
_FILES = 8
_LOCK_SECONDS = 10.0
_RESERVE_BYTES = 64 * 1024
_POLL_SECONDS = 0.02


class Journal:
    """Alerts, their deliveries and counts of runs in one folder, shared by all processes of a machine.

    Args:
        folder: where the files are; made by the first record.
        file_bytes: a file of this size is closed and the next one begun.
        files: how many files are kept.
        clock: gives the time to wait for the lock.
    """

    def __init__(
        self, folder: Path, *, file_bytes: int = _FILE_BYTES, files: int = _FILES, clock: Clock | None = None
    ) -> None:
        self.folder = folder
        self._files = NumberedFiles(folder, "journal", file_bytes, files)
        self._most_carried = file_bytes // 2
        self._clock = clock or SystemClock()

    def append(self, record: Alert | Delivery | RunCount) -> None:
        """Put a record onto the disk.

        Raises:
            NotReadyError: the disk does not take it.
            UnreachableError: another process holds the journal's lock.
        """
        self.append_unless(record, None)

    def append_unless(self, record: Alert | Delivery | RunCount, known: Callable[[AlertHistory], bool] | None) -> bool:
        """Put a record onto the disk, unless `known` finds it in the history; return whether it was put there.

        Of several processes that ask at once with the same record, one puts it there.

        Raises:
            NotReadyError: the disk does not take it.
            UnreachableError: another process holds the journal's lock.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._locked(fcntl.LOCK_EX):
                if known is not None and known(self._read()):
                    return False
                self._write(record)
        except OSError as error:
            raise NotReadyError(
                f"The journal of alerts in {self.folder} cannot be written: {error.strerror}.",
                fix="free some space, or give the folder back to the user that runs Airflow.",
            ) from error
        return True

    def read(self) -> AlertHistory:
        """Return what is on record. What cannot be read is a note, not an error.

        Raises:
            NotReadyError: the files may not be read.
            UnreachableError: another process holds the journal's lock.
        """
        if not self.folder.is_dir():
            return AlertHistory()
        try:
            with self._locked(fcntl.LOCK_SH):
                return self._read()
        except OSError as error:
            raise NotReadyError(f"The journal of alerts in {self.folder} cannot be read: {error.strerror}.") from error

    def _read(self) -> AlertHistory:
        return _history([(path.name, path.read_bytes()) for path in self._files.existing()])

    def _write(self, record: Alert | Delivery | RunCount) -> None:
        reserve = self.folder / "reserve"
        try:
            self._append(record)
        except OSError as error:
            if error.errno not in {errno.ENOSPC, errno.EDQUOT} or not reserve.exists():
                raise
            reserve.unlink()  # a full disk alerts once only if that can be recorded
            self._append(record)
        else:
            _reserve(reserve)

    def _append(self, record: Alert | Delivery | RunCount) -> None:
        line = line_of(record)
        if isinstance(record, RunCount) and (newest := self._not_much_too_full()) is not None:
            append_line(newest, line)
            return
        file, surplus = self._files.current()
        new = not file.exists()
        if new and (full := self._shortened()) is not None:
            file, surplus, new = full, [], False
        for oldest in surplus:
            self._forget(oldest, file)
        append_line(file, line)
        if new:
            sync_folder(self.folder)

    def _not_much_too_full(self) -> Path | None:
        """Return the newest file for a count of runs, which says how many of them the alerts on record name.

        A file that is removed or rewritten to make room for the count would make it wrong.
        """
        existing = self._files.existing()
        return existing[-1] if existing and existing[-1].stat().st_size < 2 * self._files.file_bytes else None

    def _forget(self, oldest: Path, following: Path) -> None:
        """Remove a file. What is needed of it is put on record anew first, and what goes with it is counted."""
        removed = list(records(oldest.name, oldest.read_bytes()))
        place = int(oldest.stem.rpartition("-")[2]) * self._files.file_bytes  # no file has as many lines
        append_line(following, carried_lines(removed, place, self._read(), self._most_carried))
        sync_folder(self.folder)
        oldest.unlink()

    def _shortened(self) -> Path | None:
        """Rewrite the newest file without repetitions, and return it; None if that does not halve it.

        A disk that does not take it leaves the file as it is.
        """
        existing = self._files.existing()
        if not existing:
            return None
        full = existing[-1]
        lines = shortened(list(records(full.name, full.read_bytes())), self._read())
        if len(lines) > self._files.file_bytes // 2:
            return None
        try:
            with replacing(full) as draft:
                draft.unlink(missing_ok=True)
                append_line(draft, lines)
        except OSError:
            return None
        sync_folder(self.folder)
        return full

    @contextmanager
    def _locked(self, kind: int) -> Iterator[None]:
        """Hold the journal's lock; the operating system releases it with the process, however that ends."""
        deadline = self._clock.monotonic() + _LOCK_SECONDS
        with self._opened(kind) as lock:
            while True:
                try:
                    fcntl.flock(lock, kind | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if self._clock.monotonic() >= deadline:
                        raise UnreachableError(
                            f"Another process has kept {lock.name} locked for {_LOCK_SECONDS:.0f} s.",
                            fix="look for a stopped process that has it open.",
                        ) from None
                    self._clock.sleep(_POLL_SECONDS)
            yield

    def _opened(self, kind: int) -> BinaryIO:
        """Open the file that is locked. Who only reads may have the folder for reading only."""
        file = self.folder / "lock"
        if kind == fcntl.LOCK_SH and file.exists():
            return file.open("rb")
        return file.open("a+b")


def _history(contents: list[tuple[str, bytes]]) -> AlertHistory:
    """Return what files hold. Carried records come first: they are older than all others."""
    every = [record for name, content in contents for record in records(name, content)]
    in_places = sorted((each for each in every if isinstance(each, CarriedRecord)), key=lambda each: each.place)
    carried = [each.record for each in in_places]
    known = {record.id for record in carried if isinstance(record, Alert)}
    # Where a process died before it removed the file, a carried record is there twice.
    ordered: list[Record] = [*carried, *(each for each in every if not isinstance(each, CarriedRecord))]
    alerts: dict[int | str, Alert] = {}
    deliveries: dict[str, Delivery] = {}
    notes: list[str] = []
    counts: dict[str, list[RunCount]] = {}
    forgotten = Forgotten()
    for place, record in enumerate(ordered):
        match record:
            case Alert():
                alerts.setdefault(record.id if record.id in known else place, record)
            case Delivery():
                deliveries[record.alert_id] = record
            case RunCount():
                counts.setdefault(record.dag_id, []).append(record)
            case Forgotten():
                forgotten = forgotten.plus(record)
            case Torn():
                notes.append(str(record))
    if forgotten != Forgotten():
        notes.append(str(forgotten))
    return AlertHistory(tuple(alerts.values()), deliveries, tuple(notes), counts)


def _reserve(file: Path) -> None:
    """Reserve some room for when the disk is full, unless it is full already."""
    if not file.exists():
        try:
            file.write_bytes(b"\0" * _RESERVE_BYTES)
        except OSError:
            file.unlink(missing_ok=True)
