"""Follows a section of a page as a reader would: writes its files, runs its commands, compares what they print.

A fenced block is a file if its first line is a comment with its path (`# include/pipelines/routes.yaml`), and a
session if its language is `console`. In a session, a line after `$ ` is a command; a command that ends in `<<'END'`
goes on to the line `END`; the lines that follow are what it prints, on either stream. Blanks at the end of a line do
not count, and `…` stands for any text, also over several lines.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sluice.settings import Settings

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"# ([\w./-]+/[\w.-]+\.\w+)\n")
HOME = Settings().home
_COPIED = ("dags", "plugins", "include", "spark_jobs")
_LEFT_OUT = shutil.ignore_patterns("__pycache__")


@dataclass(frozen=True)
class File:
    """A file that the text asks for; `path` is relative to the project."""

    path: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command of a session, with what the text says that it prints."""

    text: str
    expected: str

    def agrees(self, printed: str) -> bool:
        """Whether the text tells the truth."""
        wanted, found = ("\n".join(line.rstrip() for line in t.strip().splitlines()) for t in (self.expected, printed))
        pattern = ".*".join(re.escape(part) for part in wanted.split("…"))
        return re.fullmatch(pattern, found, re.DOTALL) is not None


Session = tuple[Command, ...]


def steps(page: Path, heading: str) -> list[File | Session]:
    """Return the files and sessions of a section, in the order of the text."""
    _, found, rest = page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    assert found, f"{page.name} has no section {heading!r}"
    section = rest.partition("\n## ")[0]
    return [step for language, body in _BLOCK.findall(section) if (step := _step(language, body)) is not None]


def _step(language: str, body: str) -> File | Session | None:
    if language == "console":
        return tuple(_commands(body.splitlines()))
    path = _PATH.match(body)
    return File(path[1], body) if path else None


def _commands(lines: Sequence[str]) -> Iterator[Command]:
    starts = [n for n, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        prints = lines.index("END", start) + 1 if lines[start].endswith("<<'END'") else start + 1
        yield Command("\n".join(lines[start:prints]).removeprefix("$ "), "\n".join(lines[prints:end]))


@dataclass(frozen=True)
class Reader:
    """Somebody who follows the text in a copy of the project, with a state folder inside it."""

    home: Path

    @classmethod
    def in_copy(cls, home: Path) -> Reader:
        """Copy what a project consists of; the installation is shared."""
        for folder in _COPIED:
            shutil.copytree(HOME / folder, home / folder, ignore=_LEFT_OUT)
        (home / ".venv").symlink_to(sys.prefix)
        return cls(home)

    @property
    def state(self) -> Path:
        """The state folder."""
        return self.home / ".sluice"

    def write(self, file: File) -> None:
        """Write a file that does not exist yet: the text edits none."""
        path = self.home / file.path
        assert not path.exists(), f"{file.path} exists already"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")

    def run(self, command: str, deadline: float = 300) -> subprocess.CompletedProcess[str]:
        """Run a command; what it prints on either stream is in `stdout`."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.home,
            env={**environment, "SLUICE_HOME": str(self.home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=deadline,
        )

    def follow(self, session: Session) -> None:
        """Run a session; every command must succeed and print what the text says."""
        for command in session:
            done = self.run(command.text)
            said = f"$ {command.text}\nends with {done.returncode} and prints\n{done.stdout}"
            assert done.returncode == 0, said
            assert command.agrees(done.stdout), f"{said}\ninstead of\n{command.expected}"
