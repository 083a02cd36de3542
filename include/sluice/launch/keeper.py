"""Holds one driver: starts it, waits for its end and leaves a record. Outlives its caller.

Run by path with `python -I -S`, so that a stream costs about 10 MB more than its driver; imports the standard library
alone. The caller has taken the lock of the driver's folder and passes its descriptor on; keeper and driver hold it
together, so the lock is free only when both are gone.

Invariants:
* `start.json` is durable before the driver exists: a key that may have run is never taken for one that did not;
* `exit.json` is written only when no descendant of the driver lives (Spark's JVM, Python workers), in whichever process
  group it hid: the record is proof of death;
* the records are written under the lock, so a reader that holds it sees a state that no longer changes.

What a crash leaves, at every point:

    caller, before the keeper is started    nothing: the lock is free, the key is ABSENT
    keeper, before `start.json`             the same
    keeper, before the driver is started    LOST: nothing ran, and the key is spent
    keeper, before `pid.json`               RUNNING while the driver holds the lock, then LOST
    keeper, later                           the same, and `stop` can reach the driver by its pid
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

START, PID, EXIT, LOCK, LOG = "start.json", "pid.json", "exit.json", "lock", "driver.log"
"""Files in a driver's folder."""

Point = Literal["before_start", "before_driver", "before_pid"]
"""Where a test lets the keeper die."""

_FAMILY_GRACE_SECONDS = 5.0
_LOG_CHECK_SECONDS = 60.0
_LOG_BYTES = 64 * 1024**2
_CANNOT_EXECUTE = 127
_RESERVED_BYTES = 512
_PR_SET_CHILD_SUBREAPER = 36


def keep(folder: Path, lock: int, argv: Sequence[str], *, reached: Callable[[Point], None] = lambda _: None) -> None:
    """Run the driver `argv` to its end: in its folder, whose lock the descriptor `lock` holds."""
    _stay_alive()
    _adopt_orphans()
    reached("before_start")
    exit_record = ReservedRecord(folder / EXIT)
    write_durably(folder / START, {"argv": list(argv), "at": _now()})
    reached("before_driver")
    try:
        driver = _start(folder, lock, argv)
    except OSError as error:
        with (folder / LOG).open("a", encoding="utf-8") as log:
            log.write(f"{argv[0]} cannot be executed: {error}\n")
        exit_record.write({"pid": None, "exit_code": _CANNOT_EXECUTE, "at": _now()})
        return
    reached("before_pid")
    pid = driver.pid
    write_durably(folder / PID, {"pid": pid, "ticks": start_ticks(pid), "keeper": os.getpid(), "at": _now()})
    _release_caller()
    _wait_until_it_ends(pid, folder / LOG)
    exit_code = _end_family(pid)
    exit_record.write({"pid": pid, "exit_code": exit_code, "at": _now()})


def start_ticks(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None if it is gone. Guards against reused pids."""
    fields = stat_fields(pid)
    return int(fields[19]) if fields else None


class ReservedRecord:
    """A small JSON file that is written at the end, in room that is taken at the beginning: a full disk ends drivers.

    Raises:
        OSError: there is no room now.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._draft = path.with_name(f".{path.name}.{os.getpid()}")
        with _or_no_draft(self._draft), self._draft.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, _RESERVED_BYTES)
            os.fsync(file.fileno())

    def write(self, record: dict[str, object]) -> None:
        """Write it, whole or not at all."""
        with self._draft.open("r+b") as file:
            file.write(json.dumps(record).encode().ljust(_RESERVED_BYTES))
            file.flush()
            os.fsync(file.fileno())
        _put_in_place(self._draft, self._path)


def write_durably(path: Path, record: dict[str, object]) -> None:
    """Write a JSON file that is whole or absent, also after a power cut."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with _or_no_draft(draft), draft.open("w", encoding="utf-8") as file:
        json.dump(record, file)
        file.flush()
        os.fsync(file.fileno())
    _put_in_place(draft, path)


@contextlib.contextmanager
def _or_no_draft(draft: Path) -> Iterator[None]:
    """Remove a draft that could not be written: on a full disk, what is left of it would stay for ever."""
    try:
        yield
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def _put_in_place(draft: Path, path: Path) -> None:
    draft.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _start(folder: Path, lock: int, argv: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the driver. Who drops what is returned lets Python reap it, and a driver that dies at once has no end."""
    with (folder / LOG).open("ab") as log:
        return subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, pass_fds=(lock,)
        )


def _wait_until_it_ends(driver: int, log: Path) -> None:
    """Return when the driver is a zombie: not reaped, its number, and so its group's, cannot become a stranger's."""
    handle = os.pidfd_open(driver)
    while not select.select([handle], [], [], _LOG_CHECK_SECONDS)[0]:
        rotate(log)
    os.close(handle)


def rotate(log: Path, limit: int = _LOG_BYTES) -> None:
    """Move a long log's content aside. The driver goes on in the same file; what it writes meanwhile may be lost."""
    with contextlib.suppress(OSError):  # the log was removed: the driver is looked after all the same
        if log.stat().st_size > limit:
            import shutil  # noqa: PLC0415 - needed rarely, and it loads every compressor: the keeper stays small

            with contextlib.suppress(OSError):  # a full disk: truncating is what helps
                shutil.copyfile(log, log.with_suffix(".log.1"))
            os.truncate(log, 0)


def _end_family(driver: int) -> int:
    """Return the driver's exit code when it and all its descendants are gone."""
    deadline = time.monotonic() + _FAMILY_GRACE_SECONDS  # Spark's JVM removes its temporary folders now
    while list(_children(but=driver)) and time.monotonic() < deadline:
        for child in _children(but=driver):
            os.waitpid(child, os.WNOHANG)
        time.sleep(0.02)
    os.killpg(driver, signal.SIGKILL)
    exit_code = os.waitstatus_to_exitcode(os.waitpid(driver, 0)[1])
    while True:
        for child in _children():
            os.kill(child, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return exit_code


def _children(but: int = 0) -> Iterator[int]:
    """Yield our children, zombies included; orphaned descendants of the driver are among them."""
    me = os.getpid()
    for pid in [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]:
        if pid != but and (fields := stat_fields(pid)) and int(fields[1]) == me:
            yield pid


def stat_fields(pid: int) -> list[str]:
    """Return the fields of /proc/<pid>/stat from `state` on; empty if the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _stay_alive() -> None:
    """Survive what ends a process tree. Handlers, because an ignored signal would stay ignored in the driver."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: None)


def _adopt_orphans() -> None:
    """Become the parent of descendants whose parent died, so that none can be missed at the end."""
    try:
        import ctypes  # noqa: PLC0415 - some builds of Python lack it; the driver's group is still ended then
    except ImportError:
        return
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _release_caller() -> None:
    """Close the pipe to the caller: nothing that it does can lose the driver now."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _now() -> str:
    return datetime.now(UTC).isoformat()


def main(arguments: list[str]) -> None:
    """Leave the caller's process tree, then keep: `<folder> <lock descriptor> <argv>...`."""
    if os.fork():
        os._exit(0)
    os.setsid()
    folder, lock, *argv = arguments
    try:
        keep(Path(folder), int(lock), argv)
    except OSError as error:  # the caller reads our standard error
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
