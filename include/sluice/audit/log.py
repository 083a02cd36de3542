"""The audit log: JSON lines in files of bounded size and number.

Invariants:
* an act's line is on disk when `append` returns, whole, whatever other processes append at that moment: it is one write
  to a file that is open for appending, and no lock is needed;
* a line that a crash has torn costs no other line, and reading says where it is;
* nothing rewrites a line; the oldest file goes when there are too many.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sluice.audit.act import Act, ActOutcome
from sluice.disk import NumberedFiles, append_line
from sluice.errors import NotReadyError

FILE_BYTES = 4 * 1024 * 1024
"""Some five thousand acts, of two lines each."""
FILES = 8


@dataclass(frozen=True)
class Acts:
    """What is on record.

    Attributes:
        acts: oldest first, each as its newest line says.
        notes: lines that were left out, and where they are.
    """

    acts: tuple[Act, ...] = ()
    notes: tuple[str, ...] = ()


class AuditLog:
    """Acts in one folder, shared by all processes of a machine.

    Args:
        folder: where the files are; made by the first act, for its owner only.
        file_bytes: a file of this size is closed and the next one begun.
        files: how many files are kept.
    """

    def __init__(self, folder: Path, *, file_bytes: int = FILE_BYTES, files: int = FILES) -> None:
        self.folder = folder
        self._files = NumberedFiles(folder, "audit", file_bytes, files)

    def append(self, act: Act) -> None:
        """Put the beginning or the end of an act onto the disk. Without a state folder there is nothing to act on.

        Raises:
            NotReadyError: the disk does not take it.
        """
        if not self.folder.parent.is_dir():
            return
        try:
            self.folder.mkdir(exist_ok=True, mode=0o700)
            file, surplus = self._files.current()
            for oldest in surplus:
                oldest.unlink(missing_ok=True)
            append_line(file, json.dumps(act.as_dict()).encode() + b"\n")
        except OSError as error:
            raise NotReadyError(
                f"the audit log in {self.folder} cannot be written: {error.strerror}.",
                fix="free some space, or give the folder back to the user that runs Sluice.",
            ) from error

    def read(self) -> Acts:
        """Return what is on record. What cannot be understood is a note, not an error.

        Raises:
            NotReadyError: the files may not be read.
        """
        acts: dict[str, Act] = {}
        notes: list[str] = []
        if not self.folder.is_dir():
            return Acts()
        try:
            for file in self._files.existing():
                for found in _lines(file.name, file.read_bytes()):
                    if isinstance(found, str):
                        notes.append(found)
                    elif found.outcome is not ActOutcome.OPEN or found.id not in acts:
                        acts[found.id] = found
        except FileNotFoundError:  # the oldest one has just gone
            return self.read()
        except OSError as error:
            raise NotReadyError(
                f"the audit log in {self.folder} cannot be read: {error.strerror}.",
                fix="read it as the user that runs Sluice.",
            ) from error
        return Acts(tuple(sorted(acts.values(), key=lambda act: act.at)), tuple(notes))


def _lines(name: str, content: bytes) -> Iterator[Act | str]:
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line:
            try:
                yield _act(line)
            except ValueError:
                yield f"{name}:{number} is torn or no act; it was left out."


def _act(line: bytes) -> Act:
    """Return the act of a line.

    Raises:
        ValueError: it holds none.
    """
    try:
        parsed = json.loads(line)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    act = Act.from_dict(parsed if isinstance(parsed, dict) else {})
    if act.at.tzinfo is None or (act.ended is not None and act.ended.tzinfo is None):
        raise ValueError("a time without a zone")
    return act
