from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from sluice.launch.keeper import rotate

ON_A_FULL_DISK = """
import errno, os, sys
from pathlib import Path
from sluice.launch.keeper import ReservedRecord, write_durably

folder = Path(sys.argv[1])
record = ReservedRecord(folder / "exit.json")
with (folder / "filler").open("wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(1024))
    except OSError as error:
        assert error.errno == errno.ENOSPC
try:
    write_durably(folder / "other.json", {"exit_code": 22})
    raise AssertionError("the disk is not full")
except OSError:
    pass
record.write({"exit_code": 22})
print((folder / "exit.json").read_text(), sorted(path.name for path in folder.iterdir()), sep="\\n")
"""


def test_a_long_log_is_moved_aside_and_the_open_file_starts_anew(tmp_path: Path) -> None:
    log = tmp_path / "driver.log"
    with log.open("a", encoding="utf-8") as file:
        file.write("old\n" * 10)
        file.flush()
        rotate(log, limit=39)
        file.write("new\n")
    assert log.read_text() == "new\n"
    assert (tmp_path / "driver.log.1").read_text() == "old\n" * 10


def test_a_short_log_stays(tmp_path: Path) -> None:
    log = tmp_path / "driver.log"
    log.write_text("x" * 40)
    rotate(log, limit=40)
    assert log.read_text() == "x" * 40
    assert not (tmp_path / "driver.log.1").exists()


def test_a_log_that_somebody_has_removed_is_no_reason_to_end(tmp_path: Path) -> None:
    rotate(tmp_path / "gone")


def test_the_end_is_on_record_although_the_disk_is_full_by_then(tmp_path: Path) -> None:
    mounted = 'mount -t tmpfs -o size=64k none "$2" && exec "$0" -c "$1" "$2"'
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", mounted, sys.executable, ON_A_FULL_DISK]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    record, files = done.stdout.strip().splitlines()
    assert json.loads(record) == {"exit_code": 22}
    assert files == "['exit.json', 'filler']"
