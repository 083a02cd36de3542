"""The keys of a field as YAML: on one line where that can be read, else in a block. Pure."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from sluice.provisioning.importing.proposal import plain_or_quoted, quoted

WIDEST = 100
"""Characters of a line that is still read as one."""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def one_line(declared: object) -> str:
    """Return a value as YAML on one line, without the braces of a mapping: `type: timestamp, zone: UTC`."""
    if isinstance(declared, Mapping):
        return ", ".join(f"{plain_or_quoted(str(key))}: {_flow(said)}" for key, said in declared.items())
    return _flow(declared)


def in_block(declared: Mapping[str, object]) -> Iterator[str]:
    """Yield the lines of a mapping; what fits on one line stays on it."""
    for key, said in declared.items():
        name, line = plain_or_quoted(key), _flow(said)
        if len(name) + len(line) < WIDEST - 10:
            yield f"{name}: {line}"
        elif isinstance(said, Mapping):
            yield f"{name}:"
            yield from (f"  {line}" for line in in_block(said))
        elif isinstance(said, list):
            yield from name_list(name, said)
        else:
            yield f"{name}: {line}"


def name_list(key: str, texts: Sequence[str]) -> list[str]:
    """Return the lines of a key with a list of words, wrapped."""
    words = ", ".join(map(_flow, texts))
    if len(key) + len(words) + 4 <= WIDEST:
        return [f"{key}: [{words}]"]
    wrapped = textwrap.wrap(words, WIDEST - 4, break_long_words=False, break_on_hyphens=False)
    return [f"{key}:", f"  [{wrapped[0]}", *(f"   {line}" for line in wrapped[1:-1]), f"   {wrapped[-1]}]"]


def in_single_quotes(text: str) -> str:
    """Return a pattern as YAML: in single quotes, where nothing but a quote has to be written otherwise."""
    return "'" + text.replace("'", "''") + "'" if text.isascii() and text.isprintable() else quoted(text)


def _flow(said: object) -> str:
    if isinstance(said, Mapping):
        return f"{{{one_line(said)}}}"
    if isinstance(said, list | tuple):
        return f"[{', '.join(map(_flow, said))}]"
    if isinstance(said, bool):
        return "true" if said else "false"
    if isinstance(said, int):
        return str(said)
    text = said.value if isinstance(said, StrEnum) else str(said)
    return plain_or_quoted(text) if _PLAIN.fullmatch(text) else quoted(text)
