"""A path to a field inside an object, such as `$.user.id` or `$['user name'].id`. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_-]*)|\['([^'\\\x00-\x1f]+)'\]")
_LONGEST = 20


def parse_path(text: str) -> tuple[str, ...]:
    """Return the keys of a path, from the outermost.

    Raises:
        ValueError: it is none, in words.
    """
    if not text.startswith("$"):
        raise ValueError(f"a path begins at the record, with $: $.{text.lstrip('.')}")
    keys: list[str] = []
    at = 1
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            raise ValueError(
                f"{text[at:]!r} is no step of a path; write .key or ['any key'] for each, such as $.user['first name']"
            )
        keys.append(step[1] or step[2])
        at = step.end()
    if not 0 < len(keys) <= _LONGEST:
        raise ValueError(f"a path has 1 to {_LONGEST} keys behind its $, such as $.user.id")
    return tuple(keys)


def at_path(value: object, path: Sequence[str]) -> object:
    """Return what an object has at a path; None if a key is absent, or what has it is no object."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def put_at(value: dict[str, object], path: Sequence[str], part: object) -> None:
    """Write a part into an object at a path; objects on the way are made."""
    for key in path[:-1]:
        inner = value.setdefault(key, {})
        if not isinstance(inner, dict):
            raise TypeError(f"{key!r} is no object")
        value = inner
    value[path[-1]] = part
