"""The console as an application that Airflow's web server mounts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]


async def pages(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """Serve the console. FastAPI is imported with the first request: every task's process reads the plugin too."""
    from sluice.airflow.web.console import app  # noqa: PLC0415 - see above

    await app(scope, receive, send)
