"""Where a secret comes from: a variable, a file that one names, or a command that one names.

All secrets are read here. What was read is remembered, so that it can be hidden in whatever this process says.
"""

from __future__ import annotations

import os
import selectors
import shlex
import signal
import stat
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self, cast

from sluice.errors import NotConfiguredError

FILE, COMMAND = "_FILE", "_COMMAND"
"""Ends of the names of the variables that say where a secret is, instead of holding it."""

_MAX_BYTES = 64 * 1024
_COMMAND_SECONDS = 20.0
_REMEMBERED = 8
"""Values of one variable: a command may print another one each time."""

_read: dict[str, deque[str]] = {}


def forms(variable: str) -> tuple[str, str, str]:
    """Return the three variables of a secret: with its value, with the path of its file, and with its command."""
    return variable, f"{variable}{FILE}", f"{variable}{COMMAND}"


def is_given(variable: str, environment: Mapping[str, str]) -> bool:
    """Whether a secret is given in any form. Nothing is read."""
    return any(environment.get(form) for form in forms(variable))


def how_to_give(variable: str, what: str) -> str:
    """Return as a clause how a secret is given.

    Args:
        variable: its name.
        what: it is, such as `the password`.
    """
    _, file, command = forms(variable)
    return f"set {variable} to {what}, {file} to a file that holds it, or {command} to a command that prints it"


@dataclass(frozen=True)
class SecretSource:
    """Where a secret is that may be another one later; `FORM=where` as text.

    Attributes:
        form: the variable that says it, with `_FILE` or `_COMMAND` at its end.
        where: the path of the file, or the command.
    """

    form: str
    where: str = field(repr=False)

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the one that was written as text."""
        form, _, where = text.partition("=")
        return cls(form, where)

    def __str__(self) -> str:
        return f"{self.form}={self.where}"

    def for_shell(self) -> str:
        """Return the text with a command whose words are quoted: a shell runs it as it is run without one.

        Raises:
            NotConfiguredError: it is no command.
        """
        return str(self) if self.form.endswith(FILE) else f"{self.form}={shlex.join(_argv(self.form, self.where))}"

    def read(self, seconds: float = _COMMAND_SECONDS) -> str:
        """Return the secret as it is now, without the line break at its end, and remember it.

        Raises:
            NotConfiguredError: the file or the command yields none. No error quotes the secret or the command.
        """
        of_file = self.form.endswith(FILE)
        found = _of_file(self.form, self.where) if of_file else _of_command(self.form, self.where, seconds)
        text = _text(self.form, found)
        remembered = _read.setdefault(self.form.removesuffix(FILE if of_file else COMMAND), deque(maxlen=_REMEMBERED))
        if text not in remembered:
            remembered.append(text)
        return text


def secret_source(variable: str, environment: Mapping[str, str]) -> SecretSource | None:
    """Return where a secret is read; None if it is not given, or by its very variable, which stays what it is.

    Raises:
        NotConfiguredError: it is given in two forms.
    """
    form = _form(variable, environment)
    return None if form is None or form == variable else SecretSource(form, environment[form])


def read_secret(variable: str, environment: Mapping[str, str], seconds: float = _COMMAND_SECONDS) -> str | None:
    """Return a secret as it is now, without the line break at its end; None if it is not given.

    A file is read, and a command is run, at every call.

    Args:
        variable: its name.
        environment: of this process.
        seconds: how long a command may take.

    Raises:
        NotConfiguredError: it is given in two forms, or its file or command yields none. No error quotes the secret or
            the command.
    """
    source = secret_source(variable, environment)
    return (environment.get(variable) or None) if source is None else source.read(seconds)


def _form(variable: str, environment: Mapping[str, str]) -> str | None:
    given = [form for form in forms(variable) if environment.get(form)]
    if len(given) > 1:
        raise NotConfiguredError(
            f"{' and '.join(given)} are set, and a secret has one source.", fix="unset all of them but one."
        )
    return given[0] if given else None


def read_so_far() -> Iterator[tuple[str, str]]:
    """Yield the variables and values of what this process has read from files and commands."""
    for variable, values in list(_read.items()):
        for value in list(values):
            yield variable, value


def _text(form: str, found: bytes) -> str:
    of_file = form.endswith(FILE)
    source = "the file that it names" if of_file else "what its command prints"
    fix = _FILE_FIX if of_file else _COMMAND_FIX
    if len(found) > _MAX_BYTES:
        raise NotConfiguredError(f"{form}: {source} is longer than {_MAX_BYTES // 1024} KiB: no secret is.", fix=fix)
    try:
        text = found.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise NotConfiguredError(f"{form}: {source} is no text in UTF-8.", fix=fix) from None
    if not text:
        raise NotConfiguredError(f"{form}: {source} is empty.", fix=fix)
    return text


_FILE_FIX = "name a file that holds the secret and nothing else."
_COMMAND_FIX = "let the command print the secret and nothing else."
_BY_HAND = "run it by hand, as the user of this process and in its environment."


def _of_file(form: str, path: str) -> bytes:
    try:
        # A pipe would be read once, and block whoever reads it again.
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise NotConfiguredError(f"{form} names {path}, which is no regular file.", fix=_FILE_FIX)
        with Path(path).open("rb") as file:
            return file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        raise NotConfiguredError(
            f"{form} names {path!r}, which cannot be read: {_why(error)}.",
            fix="mount the file there, readable by the user of this process.",
        ) from error


def _of_command(form: str, command: str, seconds: float) -> bytes:
    """Return what a command prints. It runs without a shell; past its deadline it ends with all that it has started.

    What it writes to stderr is dropped: it may quote what it was given. No error quotes the command, for the same
    reason.
    """
    try:
        process = subprocess.Popen(
            _argv(form, command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # ValueError: an argument with a NUL
        raise NotConfiguredError(f"the command in {form} cannot be started: {_why(error)}.", fix=_BY_HAND) from None
    with process:
        try:
            found = _printed(process, seconds)
        except subprocess.TimeoutExpired:
            raise NotConfiguredError(
                f"the command in {form} has not ended within {seconds:g} s.", fix=_BY_HAND
            ) from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode and len(found) <= _MAX_BYTES:
        raise NotConfiguredError(f"the command in {form} ended with exit code {process.returncode}.", fix=_BY_HAND)
    return found


def _argv(form: str, command: str) -> list[str]:
    try:
        argv = shlex.split(command)
    except ValueError:
        argv = []
    if not argv:
        raise NotConfiguredError(
            f"{form} holds no command: it is blank, or a quotation in it does not end.",
            fix="write a program and its arguments; no shell reads them, so there are no pipes and no variables.",
        )
    return argv


def _printed(process: subprocess.Popen[bytes], seconds: float) -> bytes:
    """Return what a process prints until it ends, or more than a secret can be: what prints for ever must not fill us.

    Raises:
        TimeoutExpired: it has not ended in time.
    """
    deadline = time.monotonic() + seconds
    output, found = cast(IO[bytes], process.stdout), b""
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while selector.select(max(0.0, deadline - time.monotonic())):
            part = os.read(output.fileno(), _MAX_BYTES)
            found += part
            if len(found) > _MAX_BYTES:
                return found
            if not part:
                process.wait(max(0.0, deadline - time.monotonic()))
                return found
    raise subprocess.TimeoutExpired("", seconds)


def _why(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
