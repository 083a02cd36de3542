"""A disk that fills while streams run: they stop by a class that says so, lose nothing, and go on where they were."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.settings import StateFolder
from sluice.streams.failures.exits import ExitCode
from tests.integration.spark.conftest import DriverPlace, two_days_of_values
from tests.integration.spark.driver.test_exactly_once import assert_exact
from tests.matrix.recording import FaultRecorder

_MOUNT = 'mount -t tmpfs -o size="$2" none "$1" && echo mounted && exec sleep infinity'
_KIB = 1024


@dataclass(frozen=True)
class SmallDisk(DriverPlace):
    """A state folder that is a file system of its own, which only the drivers see, and their holder.

    Attributes:
        folder: where drivers see it; `state` is where this process does.
        holder: the process that keeps it mounted.
    """

    folder: Path = Path()
    holder: int = 0

    def seeing_it(self, command: Sequence[str]) -> list[str]:
        """Return a command that runs where the folder is this disk."""
        enter = ["nsenter", f"--target={self.holder}", "--user", "--preserve-credentials", "--mount"]
        return [*enter, f"--wd={self.folder}", *command]

    def _command(self, generation: int) -> list[str]:
        return self.seeing_it(super()._command(generation))

    def environment(self, failpoint: str = "", master: str = "") -> dict[str, str]:
        own = {"SLUICE_STATE": str(self.folder), "SLUICE_DRIVER": str(self.folder / "words")}
        return {**super().environment(failpoint, master), **own}

    def leave(self, free: int) -> None:
        """Fill the disk up to some bytes; with None of them it would not even take a name."""
        self.ballast.unlink(missing_ok=True)
        found = os.statvfs(self.state)
        with self.ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, found.f_bavail * found.f_frsize - free)

    @property
    def ballast(self) -> Path:
        """The file that fills it."""
        return self.state / "ballast"


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[SmallDisk]:
    """Mount a small file system on a folder, in a mount namespace of its own."""
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", _MOUNT, "sh", str(folder), size]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"mounted\n"
            yield SmallDisk(Path(f"/proc/{holder.pid}/root{folder}"), folder=folder, holder=holder.pid)
        finally:
            holder.kill()


@pytest.mark.verify
@pytest.mark.timeout(1200)
@pytest.mark.proves("disk-full")
def test_a_full_disk_stops_streams_by_name_and_all_goes_on_when_there_is_room(
    broker: BrokerProcess, two_days: int, tmp_path: Path, faults: FaultRecorder
) -> None:
    with small_disk(tmp_path, "64m") as place:
        # Not by `Settings`, which would resolve the path: out of the namespace.
        write_endpoints(StateFolder(place.state), Endpoints(kafka_bootstrap=(broker.bootstrap,), airflow_url=""))
        for generation, free in enumerate((0, 300 * _KIB, 900 * _KIB), start=1):
            place.leave(free)
            stopped = place.run(generation=generation)
            assert stopped.returncode == ExitCode.DISK_FULL, (free, stopped.stdout[-3000:], stopped.stderr[-3000:])
            assert "disk full" in stopped.stderr
            faults.struck(f"{free} bytes free: exit code {stopped.returncode} (DISK_FULL)")
        place.ballast.unlink()
        finished = place.run(generation=9)
        assert finished.returncode == ExitCode.STOPPED, finished.stdout[-2000:]
        faults.recovered()
        # A copy: the reader of tables resolves paths, too.
        seen = DriverPlace(tmp_path.with_name(f"{tmp_path.name}-seen"))
        shutil.copytree(place.state / "tables", seen.state / "tables")
        faults.counted(seen.census(two_days_of_values()))
        assert_exact(seen, two_days)
        assert json.loads((place.state / "progress" / "departures.json").read_text())["generation"] == 9
