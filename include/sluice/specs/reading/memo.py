"""What sound spec files say as plain data, remembered by their bytes: Airflow reads all of them again for every file.

A memo is never wrong about a file, because it knows nothing of files: it is asked with the bytes that were read. It is
tied to the code that reads them; a fault is never remembered; and without its file, or with a damaged one, everything
is read as it would be without a memo.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import yaml

from sluice.contracts.breach import Loc
from sluice.disk import replacing
from sluice.specs.reading import document
from sluice.specs.reading.document import Document, Parse, parse_document


class Memo:
    """Remembers documents in one file.

    Args:
        file: where; nothing is written if its folder does not exist.
        read: reads what is not remembered.
    """

    def __init__(self, file: Path, read: Parse = parse_document) -> None:
        self._file = file
        self._parse = read
        self._code = _digest(Path(document.__file__).read_bytes() + yaml.__version__.encode())
        self._known = self._read()
        self._used: dict[str, object] = {}

    def parse(self, content: bytes, file: str) -> Document:
        """Read the bytes of a file, as `parse_document` does."""
        digest = _digest(content)
        data = self._known.get(digest)
        if isinstance(data, dict):
            self._used[digest] = data
            return Document(file, data, _Lines(content, file))
        parsed = self._parse(content, file)
        if parsed.data is not None and not parsed.faults:
            self._used[digest] = parsed.data
        return parsed

    def save(self, *, whole: bool = True) -> None:
        """Write down what was read since the start, if any of it is new.

        Args:
            whole: all specs were read, so what was not is forgotten.
        """
        documents = self._used if whole else {**self._known, **self._used}
        if documents.keys() == self._known.keys() or not self._file.parent.is_dir():
            return
        with contextlib.suppress(OSError), replacing(self._file) as draft:  # what is not remembered is read again
            draft.write_text(json.dumps({"code": self._code, "documents": documents}), encoding="utf-8")

    def _read(self) -> Mapping[str, object]:
        try:
            content = json.loads(self._file.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(content, dict) or content.get("code") != self._code:
            return {}
        documents = content.get("documents")
        return documents if isinstance(documents, dict) else {}


class _Lines(Mapping[Loc, int]):
    """The lines of a remembered document: only a fault asks for them, so the text is read again when one does."""

    def __init__(self, content: bytes, file: str) -> None:
        self._content, self._named = content, file

    @cached_property
    def _lines(self) -> Mapping[Loc, int]:
        return parse_document(self._content, self._named).lines

    def __getitem__(self, loc: Loc) -> int:
        return self._lines[loc]

    def __iter__(self) -> Iterator[Loc]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=20).hexdigest()
