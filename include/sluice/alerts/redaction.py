"""Keeps secrets out of alerts and logs: errors quote URLs, settings and command lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from urllib.parse import quote, unquote

from sluice.secrecy.secret_values import COMMAND, read_so_far
from sluice.specs.deployments.secrecy import is_secret

HIDDEN = "***"
_QUOTES = "\"'"
_SHORTEST = 4
"""A shorter secret cannot be distinguished from ordinary text: hiding it would hide half of every sentence."""

_CREDENTIALS = re.compile(r"(?<=://)([^/\s:@]*):([^\s]+)@")
"""User and password of a URL; a password may hold unencoded `@`, `:` and `/`, as databases take it."""
_ASSIGNMENT = re.compile(r"""([\w.\-]+)(["']?\s*[=:]\s*)("[^"\n]*"|'[^'\n]*'|["']?[^\s"',;&]+)""")
"""A name and its value, as in properties, JSON, query strings and command lines; in quotes it goes to their end."""
_AUTHORIZATION = re.compile(
    r"(\bauthorization['\"]?\s*[:=]\s*['\"]?\w+\s+|\bbearer\s+(?=\S*\d))([^\s'\",]+)", re.IGNORECASE
)
"""What a request shows to be let in."""


class Redaction:
    """Hides known secrets, passwords in URLs, and the values of settings whose names are those of secrets.

    Args:
        secrets: that are known.
        later: returns those that became known, whenever a text is to be shown.
    """

    def __init__(self, secrets: Iterable[str] = (), later: Callable[[], Iterable[str]] = tuple) -> None:
        self._secrets = frozenset(secrets)
        self._later = later

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Redaction:
        """Return one that knows the secrets in a process's variables, and all that this process reads elsewhere."""
        return cls(
            (secret for name, value in environment.items() for secret in secrets_in(name, value)), _read_elsewhere
        )

    def __call__(self, text: str) -> str:
        """Return the text without its secrets."""
        if (known := _pattern(self._secrets.union(self._later()))) is not None:
            text = known.sub(HIDDEN, text)
        text = _CREDENTIALS.sub(rf"\1:{HIDDEN}@", text)
        text = _AUTHORIZATION.sub(rf"\1{HIDDEN}", text)
        return _ASSIGNMENT.sub(lambda m: f"{m[1]}{m[2]}{_hidden(m[3])}" if is_secret(m[1]) else m[0], text)


def _hidden(value: str) -> str:
    """Return what is shown instead of a value, in its quotes."""
    begin = value[0] if value[0] in _QUOTES else ""
    return f"{begin}{HIDDEN}{begin if len(value) > 1 and value.endswith(begin) else ''}"


@lru_cache(maxsize=8)
def _pattern(secrets: frozenset[str]) -> re.Pattern[str] | None:
    known = {form for secret in secrets for form in (secret, quote(secret, safe="")) if len(secret) >= _SHORTEST}
    longest_first = sorted(known, key=lambda secret: (-len(secret), secret))
    return re.compile("|".join(map(re.escape, longest_first))) if known else None


def _read_elsewhere() -> Iterator[str]:
    """Yield what this process has read from files and commands."""
    for variable, value in read_so_far():
        yield value
        yield from secrets_in(variable, value)


def secrets_in(name: str, value: str) -> Iterator[str]:
    """Yield what must not be shown of a variable: all of it if its name says so, else the passwords within.

    Args:
        name: `LIKE_THIS`; a connection of Airflow's is secret as a whole, and so is a command that prints a secret.
        value: its value.
    """
    if is_secret(name.replace("_", ".")) or name.startswith("AIRFLOW_CONN_") or name.endswith(COMMAND):
        yield value
    for match in _CREDENTIALS.finditer(value):
        yield from {match[2], unquote(match[2])}
    for match in _ASSIGNMENT.finditer(value):
        if is_secret(match[1]):
            yield match[3].strip(_QUOTES)
