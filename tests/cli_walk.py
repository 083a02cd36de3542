"""Runs every command of the command line, each in a process of its own, over one state folder; for tests of bad disks.

Run as a program inside a mount namespace, so that the folder is really read-only or full, for root, too:
`python -m tests.cli_walk read-only|full FOLDER [COMMAND...]` prints one JSON object per command.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from sluice.cli import main as command_line
from sluice.settings import settings

ARGUMENTS = """
up
down
status
status -o json
doctor
doctor --kafka
check
check --explain departures
logs
topics plan
topics apply
topics cancel
topics check
topics import
topics describe
topics tail flights
topics send flights /dev/null
access plan
access apply
access list
streams list
streams show flights
streams start flights
streams stop flights
streams restart flights
streams resume flights
streams force flights --why x
streams logs flights
streams reset flights --to earliest --why x
streams heal flights --why x
streams upgrade flights
streams upgrade flights --try
streams upgrade flights --promote --why x
streams upgrade flights --rollback
intervals list
intervals show departures 2013-01-01T00:00:00Z
intervals advance departures
mirror status
mirror lag standby
mirror start standby
mirror stop standby
mirror logs standby
mirror translate standby flights/0=1
mirror rehearse standby flights
mirror failover standby flights --why x --yes
graph
graph departures -o json
trace flights/0/1
outputs rebuild departures
outputs roles
backfill plan departures --from 2013-01-01 --to 2013-01-02
backfill run departures --from 2013-01-01 --to 2013-01-02
backfill accept x
backfill status
backfill cancel x
backfill list
capacity plan departures
capacity cost departures
prove departures
proofs list
proofs show departures-20130101T000000-00000000
quality check departures
quality show departures
quality suggest departures
quarantine list departures
quarantine record departures 0:1
quarantine open departures --why x
quarantine cases
quarantine show x
quarantine fix x --why y
quarantine discard x --why y
quarantine reopen x --why y
quarantine patch x --pattern p --by q
quarantine replay x
contracts list
contracts drift flights
contracts publish flights
control rebuild
control compact
feed check flights
feed follow flights
feed send flights --from 2013-01-01 --to 2013-01-01
feed manifest flights
alerts open
alerts show x
alerts test
audit
sql
""".strip().splitlines()
"""All but those that touch no state folder (`new`, `run`, `explain`, `topics place`, `contracts fetch`), that do what
another one does (`demo`: `up`), or that go on until they are interrupted (`console`, `serve`)."""

_SECONDS = 60


def spoil(how: str, folder: Path) -> None:
    """Make a folder unusable. For root no mode is in the way, so a mount is."""
    if how == "read-only":
        _run("mount", "--bind", str(folder), str(folder))
        _run("mount", "-o", "remount,ro,bind", str(folder))
    elif how == "full":
        kept = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        _run("mount", "-t", "tmpfs", "-o", "size=2m", "none", str(folder))
        for name, content in kept.items():
            (folder / name).write_bytes(content)
        ballast(folder)
    else:
        raise SystemExit(f"no way to spoil a folder: {how}")


def ballast(folder: Path) -> Path:
    """Take all the room there is in a file system."""
    file = folder / "ballast"
    with file.open("wb", buffering=0) as opened:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    opened.write(b"\0" * size)
            except OSError:
                continue
    return file


def walk(arguments: list[str]) -> Iterator[dict[str, object]]:
    """Yield each command, its exit code (None: it did not end) and what it said."""
    for line in arguments:
        with tempfile.TemporaryFile() as said:
            code = _code(line.split(), said.fileno())
            said.seek(0)
            yield {"command": line, "code": code, "said": said.read().decode(errors="replace")}


def _code(arguments: list[str], output: int) -> int | None:
    """Run one command in a fork: its modules are there already."""
    child = os.fork()
    if child == 0:
        _become(arguments, output)
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, 9)
    os.waitpid(child, 0)
    return None


def _become(arguments: list[str], output: int) -> None:
    os.setsid()
    for number in (1, 2):
        os.dup2(output, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    settings.cache_clear()
    sys.argv = ["sluice", *arguments]
    code = 1
    try:
        command_line.main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - what a test looks for
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def main(how: str, folder: str, *lines: str) -> None:
    """Spoil the folder and run these commands over it; without any, all."""
    for command in {line.split()[0] for line in lines or ARGUMENTS}:
        import_module(command_line.COMMANDS[command].partition(":")[0])  # once for all forks
    spoil(how, Path(folder))
    os.environ["SLUICE_STATE"] = folder
    for result in walk(list(lines or ARGUMENTS)):
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
