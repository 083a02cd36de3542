"""What a pipeline's code consists of, part by part, so that of two codes can be said in what they differ.

The hash alone says that they do. So who runs code keeps its parts in a file that the hash names; of code whose parts
nobody kept, nothing is said.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sluice.disk import write_text


@dataclass(frozen=True)
class CodeParts:
    """The parts of a pipeline's code.

    Attributes:
        modules: sha256 (hex) of each module by its name; line ends do not count, anything else does.
        meaning: what the specs say about results, see `sluice.specs.code.closure.meaning`; JSON values.
        static: digest of every static input by its name.
    """

    modules: Mapping[str, str] = field(default_factory=dict)
    meaning: Mapping[str, object] = field(default_factory=dict)
    static: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, files: Iterable[tuple[str, bytes]], meaning: Mapping[str, object], static: Mapping[str, str]
    ) -> CodeParts:
        """Return the parts of code.

        Args:
            files: name and content of every module, in any order.
            meaning: what the specs say.
            static: digest of every static input by its name.
        """
        modules = {name: hashlib.sha256(_unix_lines(content)).hexdigest() for name, content in files}
        return cls(modules, json.loads(json.dumps(meaning)), static)  # as they are read back from a file

    @property
    def hash(self) -> str:
        """The sha256 (hex) that names the code."""
        parts = {**asdict(self), "modules": sorted(self.modules.items())}
        return hashlib.sha256(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def keep(self, folder: Path) -> str:
        """Write the parts into the file that their hash names, unless it is there; return the hash.

        Raises:
            OSError: the folder cannot be written.
        """
        code = self.hash
        if not (file := _file(folder, code)).exists():
            write_text(file, json.dumps(asdict(self), indent=1, sort_keys=True))
        return code


@dataclass(frozen=True)
class CodeChanges:
    """In what two codes differ.

    Attributes:
        modules: names of modules of which the content differs, or that only one of them has.
        keys: keys of specs, with both values.
        static: names of static inputs whose content differs, or that only one of them has.
    """

    modules: tuple[str, ...] = ()
    keys: tuple[KeyChange, ...] = ()
    static: tuple[str, ...] = ()


@dataclass(frozen=True)
class KeyChange:
    """A key of a spec whose value differs; JSON values, None where there is no such key.

    Attributes:
        key: its path, such as `pipeline.time.allowed_lateness`.
        old: the value before.
        new: the value now.
    """

    key: str
    old: object
    new: object


def kept_parts(folder: Path, code: str) -> CodeParts | None:
    """Return the parts of the code of a hash; None if nobody kept them, or the file is not what it should be."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        parts = CodeParts(**json.loads(_file(folder, code).read_bytes()))
        if parts.hash == code:
            return parts
    return None


def code_changes(old: CodeParts, new: CodeParts) -> CodeChanges:
    """Return in what two codes differ."""
    return CodeChanges(
        modules=_unlike(old.modules, new.modules),
        keys=tuple(_changed_keys("", old.meaning, new.meaning)),
        static=_unlike(old.static, new.static),
    )


def _file(folder: Path, code: str) -> Path:
    return folder / f"{code}.json"


def _unlike(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name))


def _changed_keys(above: str, old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[KeyChange]:
    for name in sorted(old.keys() | new.keys()):
        before, now, key = old.get(name), new.get(name), f"{above}{name}"
        if isinstance(before, dict) and isinstance(now, dict):
            yield from _changed_keys(f"{key}.", before, now)
        elif before != now:
            yield KeyChange(key, before, now)


def _unix_lines(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
