"""Links on a watch in Airflow's UI: the driver's Spark UI and the end of its log.

Where both are is only known once the driver runs, long after Airflow stores a link. So a link names a page of ours,
which looks when it is opened; see `sluice.airflow.pages`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from airflow.sdk import BaseOperator, BaseOperatorLink
from airflow.sdk.configuration import conf
from airflow.sdk.types import TaskInstanceKey

PREFIX = "/sluice"
"""Where the pages are mounted in Airflow's web server."""

Message = MutableMapping[str, Any]


class SparkUiLink(BaseOperatorLink):
    """Opens the Spark UI of the unit's driver."""

    name = "Spark UI"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the page that redirects to it."""
        _ = ti_key
        return page_of(operator, "spark-ui")


class DriverLogLink(BaseOperatorLink):
    """Opens the end of the driver's log."""

    name = "Driver log"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the page that shows it."""
        _ = ti_key
        return page_of(operator, "log")


def page_of(operator: BaseOperator, page: str) -> str:
    """Return the path of a page of the operator's unit, also when Airflow is served below a path."""
    below = urlsplit(conf.get("api", "base_url", fallback="")).path.rstrip("/")
    return f"{below}{PREFIX}/units/{operator.unit}/{page}"  # type: ignore[attr-defined]  # a WatchOperator's


async def pages(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """Serve the pages. FastAPI is imported with the first request: every task's process reads the plugin too."""
    from sluice.airflow.pages import app  # noqa: PLC0415 - see above

    await app(scope, receive, send)
