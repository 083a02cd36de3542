"""Keeps secrets out of alerts and logs: errors quote URLs, settings and command lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, unquote

from sluice.specs.deployments.secrecy import is_secret

HIDDEN = "***"
_SHORTEST = 4
"""A shorter secret cannot be distinguished from ordinary text: hiding it would hide half of every sentence."""

_CREDENTIALS = re.compile(r"(?<=://)([^/\s:@]*):([^/\s]+)@")
"""User and password of a URL; a password may hold unencoded `@` and `:`."""
_ASSIGNMENT = re.compile(r"""([\w.\-]+)(["']?\s*[=:]\s*["']?)([^\s"',;&]+)""")
"""A name and its value, as in properties, JSON, query strings and command lines."""


class Redaction:
    """Hides known secrets, passwords in URLs, and the values of settings whose names are those of secrets."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {form for secret in secrets for form in (secret, quote(secret, safe="")) if len(secret) >= _SHORTEST}
        longest_first = sorted(known, key=lambda secret: (-len(secret), secret))
        self._known = re.compile("|".join(map(re.escape, longest_first))) if known else None

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Redaction:
        """Return one that knows the secrets in a process's variables."""
        return cls(secret for name, value in environment.items() for secret in secrets_in(name, value))

    def __call__(self, text: str) -> str:
        """Return the text without its secrets."""
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        text = _CREDENTIALS.sub(rf"\1:{HIDDEN}@", text)
        return _ASSIGNMENT.sub(lambda m: f"{m[1]}{m[2]}{HIDDEN}" if is_secret(m[1]) else m[0], text)


def secrets_in(name: str, value: str) -> Iterator[str]:
    """Yield what must not be shown of a variable: all of it if its name says so, else the passwords within.

    Args:
        name: `LIKE_THIS`; a connection of Airflow's is secret as a whole.
        value: its value.
    """
    if is_secret(name.replace("_", ".")) or name.startswith("AIRFLOW_CONN_"):
        yield value
    for match in _CREDENTIALS.finditer(value):
        yield from {match[2], unquote(match[2])}
    for match in _ASSIGNMENT.finditer(value):
        if is_secret(match[1]):
            yield match[3]
