"""Connections that are opened with the newest URL, so that a rotated password needs no restart."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from sluice.errors import NotConfiguredError

log = logging.getLogger(__name__)


def renew(engine: sa.Engine, newest: Callable[[], str]) -> None:
    """Let each new connection of an engine be opened with the URL as it is then; those that are open stay.

    A process that works goes on with the URL that it had where the newest one cannot be read for the moment.

    Args:
        engine: it has connected with the URL of before, or not at all.
        newest: returns the URL, of the same kind of database.
    """

    def at_connecting(dialect: Any, _record: Any, arguments: list[Any], parameters: dict[str, Any]) -> None:  # noqa: ANN401 - SQLAlchemy's
        try:
            positional, named = dialect.create_connect_args(make_url(newest()))
        except (NotConfiguredError, ArgumentError) as error:
            why = str(error) if isinstance(error, NotConfiguredError) else "it is no URL"
            log.warning("The newest URL of a database cannot be had, so the one before is used: %s", why)
            return
        arguments[:] = positional
        parameters.clear()
        parameters.update(named)

    sa.event.listen(engine, "do_connect", at_connecting)
