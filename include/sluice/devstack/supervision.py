"""The stack's processes under supervisord: restarted when they die, their output kept in rotated files.

supervisord does not adopt what an earlier one started, so drivers are not its business (`sluice.launch.keeper`).
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import shlex
import subprocess
import sys
import xmlrpc.client
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from sluice.clock import Clock
from sluice.errors import NotReadyError, UnreachableError
from sluice.launch.private import made_private_folder, private_folder
from sluice.launch.processes import wait_until

_LONGEST_SOCKET_PATH = 90
"""Of 107 that the kernel allows; supervisord adds a suffix of its own."""
_START_SECONDS = 30.0
_SILENCE = (OSError, http.client.HTTPException)


class ProgramState(StrEnum):
    """supervisord's states of a program."""

    STOPPED = "STOPPED"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    BACKOFF = "BACKOFF"  # it died while starting, and is tried again
    STOPPING = "STOPPING"
    EXITED = "EXITED"
    FATAL = "FATAL"  # it died too often while starting
    UNKNOWN = "UNKNOWN"


ALIVE = frozenset({ProgramState.STARTING, ProgramState.RUNNING, ProgramState.BACKOFF, ProgramState.STOPPING})
"""States in which a process is there or about to be."""


@dataclass(frozen=True)
class Program:
    """A process to keep running.

    Attributes:
        name: also the name of its log.
        command: its arguments.
        stop_seconds: how long after SIGTERM its group is killed.
    """

    name: str
    command: Sequence[str]
    stop_seconds: int


class Supervisor:
    """The supervisord of one state folder."""

    def __init__(self, folder: Path, logs: Path, clock: Clock) -> None:
        self._folder = folder
        self._logs = logs
        self._clock = clock
        self._configuration = folder / "supervisord.conf"

    def log(self, name: str) -> Path:
        """Return the file with a program's output; `supervisord` is supervisord's own."""
        return self._logs / f"{name}.log"

    def is_up(self) -> bool:
        """Whether supervisord answers."""
        try:
            self._call().supervisor.getState()
        except (*_SILENCE, xmlrpc.client.Fault):
            return False
        return True

    def runs(self, programs: Iterable[Program], identity: str) -> bool:
        """Whether supervisord answers and was started for exactly these programs and this identity."""
        wanted = self._render(programs, identity)
        return self.is_up() and self._configuration.exists() and self._configuration.read_text("utf-8") == wanted

    def start(self, programs: Iterable[Program], identity: str, environment: Mapping[str, str]) -> None:
        """Start supervisord as a daemon; its programs wait for `start_programs`.

        The identity stands for all that the programs depend on beside their commands; see `runs`.

        Raises:
            NotReadyError: it did not start.
        """
        for folder in (self._folder, self._logs):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._socket.parent != self._folder:
            made_private_folder()
        self._configuration.write_text(self._render(programs, identity), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "supervisor.supervisord", "-c", str(self._configuration)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=self._folder,
            check=False,
        )
        if done.returncode != 0 or not wait_until(self.is_up, self._clock, deadline_seconds=_START_SECONDS):
            output = done.stdout.decode(errors="replace").strip() or "\n".join(last_lines(self.log("supervisord")))
            raise NotReadyError(f"supervisord did not start: {output}", fix=f"read {self.log('supervisord')}.")

    def start_programs(self, names: Iterable[str]) -> None:
        """Start those programs that have no process."""
        states = self.states()
        for name in names:
            if states[name] not in ALIVE:
                self._command("startProcess", name)

    def stop_programs(self, names: Iterable[str], deadline_seconds: float) -> None:
        """Stop programs together, and return when they are gone or the deadline has passed."""
        states = self.states()
        names = [name for name in names if states.get(name) in ALIVE]
        for name in names:
            self._command("stopProcess", name)
        wait_until(
            lambda: ALIVE.isdisjoint(self.states()[name] for name in names),
            self._clock,
            deadline_seconds=deadline_seconds,
        )

    def states(self) -> dict[str, ProgramState]:
        """Return the state of every program."""
        return {program["name"]: ProgramState(program["statename"]) for program in self._programs()}

    def pids(self) -> dict[str, int]:
        """Return the process of every program that has one."""
        return {program["name"]: int(program["pid"]) for program in self._programs() if program["pid"]}

    def _programs(self) -> list[dict[str, Any]]:
        try:
            processes: list[dict[str, Any]] = self._call().supervisor.getAllProcessInfo()
        except (*_SILENCE, xmlrpc.client.Fault) as error:
            raise self._unreachable(error) from error
        return processes

    def shut_down(self, deadline_seconds: float) -> None:
        """Stop all programs and supervisord; return when it is gone or the deadline has passed."""
        with contextlib.suppress(*_SILENCE, xmlrpc.client.Fault):  # it is going down already
            self._call().supervisor.shutdown()
        wait_until(lambda: not self.is_up(), self._clock, deadline_seconds=deadline_seconds)

    @property
    def _socket(self) -> Path:
        path = self._folder / "supervisor.sock"
        if len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH:
            return path
        name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
        return private_folder() / f"{name}.sock"

    def _call(self) -> Any:  # noqa: ANN401 - xmlrpc makes methods out of names
        from supervisor.xmlrpc import SupervisorTransport  # noqa: PLC0415 - reading a log must not wait for it

        transport = SupervisorTransport(None, None, serverurl=f"unix://{self._socket}")
        return xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport)

    def _command(self, method: str, name: str) -> None:
        """Ask for a start or stop without waiting for it. What came of it is seen in `states`."""
        try:
            getattr(self._call().supervisor, method)(name, False)
        except xmlrpc.client.Fault:  # such as "already started"
            return
        except _SILENCE as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> UnreachableError:
        return UnreachableError(
            f"supervisord of {self._folder} does not answer: {error}.", fix="run `sluice down`, then `sluice up`."
        )

    def _render(self, programs: Iterable[Program], identity: str) -> str:
        head = _SUPERVISORD.format(
            identity=identity,
            log=self._here(self.log("supervisord")),
            socket=self._here(self._socket),
            pid=self._here(self._folder / "supervisord.pid"),
        )
        return head + "".join(
            _PROGRAM.format(
                name=program.name,
                command=_escape(_joined(program.command)),
                log=self._here(self.log(program.name)),
                stop_seconds=program.stop_seconds,
            )
            for program in programs
        )

    def _here(self, path: Path) -> str:
        """Return a path from the folder that supervisord runs in: ` ;` in that folder's name would end the line."""
        return _escape(Path(".", os.path.relpath(path, self._folder)))


def last_lines(path: Path, count: int = 8) -> list[str]:
    """Return the last lines of a log that are not blank; none if there is no log."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    lines = [line for line in text.split("\n") if line.strip()]
    return lines[max(0, len(lines) - count) :]


def _joined(command: Sequence[str]) -> str:
    """Return a command in the words of a shell; within quotes, too, a blank and a `;` or `#` begin a comment here."""
    return shlex.join(command).replace(" ;", " '';").replace(" #", " ''#")


def _escape(value: object) -> str:
    return str(value).replace("%", "%%")


_SUPERVISORD = """\
; {identity}
[supervisord]
logfile={log}
logfile_maxbytes=5MB
logfile_backups=1
pidfile={pid}
[unix_http_server]
file={socket}
chmod=0600
[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface
"""

_PROGRAM = """\
[program:{name}]
command={command}
autostart=false
autorestart=true
startsecs=2
startretries=1
stopsignal=TERM
stopwaitsecs={stop_seconds}
killasgroup=true
redirect_stderr=true
stdout_logfile={log}
stdout_logfile_maxbytes=10MB
stdout_logfile_backups=2
"""
