"""Keeps the token fresh by which Prometheus reads `/sluice/metrics`: one of a user of Airflow's who may only read.

scrape_token.py URL USER PASSWORD_FILE TOKEN_FILE AUTHORITY_FILE

Airflow's tokens last a day. Until the first one is there, and while Airflow is away, a scrape is refused; the rule
SluiceMetricsGone tells of that. Standard library alone.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.request import Request, urlopen

RENEW_SECONDS = 6 * 3600.0
RETRY_SECONDS = 10.0
_SECONDS = 10.0


def ask(url: str, user: str, password: str, authority: Path | None = None) -> str:
    """Return a token.

    Args:
        url: of Airflow.
        user: who may read.
        password: the user's.
        authority: the certificate by which Airflow is known; None: those that the machine trusts.

    Raises:
        OSError: Airflow is away, or refuses.
        ValueError: its answer is something else.
    """
    body = json.dumps({"username": user, "password": password}).encode()
    request = Request(f"{url}/auth/token", body, {"Content-Type": "application/json"})  # noqa: S310 - from docker-compose.yaml
    context = ssl.create_default_context(cafile=None if authority is None else str(authority))
    with urlopen(request, timeout=_SECONDS, context=context) as answer:  # noqa: S310 - the same
        return str(json.load(answer)["access_token"])


def keep(token: str, file: Path) -> None:
    """Replace the file: a reader sees the old one or the new one, and no other user sees either."""
    draft = file.with_name(f".{file.name}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as opened:  # noqa: PTH123 - it is open
        opened.write(token)
    draft.replace(file)


def renew(ask_: Callable[[], str], file: Path) -> float:
    """Ask once, and return in how many seconds to ask again."""
    try:
        keep(ask_(), file)
    except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
        sys.stderr.write(f"There is no new token for the scrape; it is tried again: {error}\n")
        return RETRY_SECONDS
    return RENEW_SECONDS


def main(arguments: list[str]) -> None:
    """Renew it for ever."""
    url, user, password, token, authority = arguments
    while True:
        asking = partial(_ask_with, url, user, Path(password), Path(authority))
        time.sleep(renew(asking, Path(token)))


def _ask_with(url: str, user: str, password: Path, authority: Path) -> str:
    """Read the files each time: they may have been replaced."""
    return ask(url, user, password.read_text(encoding="utf-8"), authority)


if __name__ == "__main__":
    main(sys.argv[1:])
