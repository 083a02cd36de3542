"""Links in Airflow's UI: from a watch to the driver's Spark UI and log, from a batch to the pages that it made.

Where a driver's are is only known once it runs, long after Airflow stores a link. So a link names a page of ours, which
looks when it is opened: one of the console's, see `sluice.airflow.web.console`.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from airflow.sdk import BaseOperator, BaseOperatorLink
from airflow.sdk.configuration import conf
from airflow.sdk.types import TaskInstanceKey

PREFIX = "/sluice"
"""Where the pages are mounted in Airflow's web server."""


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


class ParityLink(BaseOperatorLink):
    """Opens the comparison that a backfill made."""

    name = "Parity"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return its page; nothing if no backfill was claimed."""
        _ = ti_key
        return _page_of_backfill(operator, "parity")


class QualityLink(BaseOperatorLink):
    """Opens the result of a backfill's quality gate."""

    name = "Quality"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return its page; nothing if no backfill was claimed."""
        _ = ti_key
        return _page_of_backfill(operator, "quality")


class TableQualityLink(BaseOperatorLink):
    """Opens the newest result of the suite on a pipeline's published table."""

    name = "Newest quality"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return its page."""
        _ = ti_key
        return table_quality_page(operator.pipeline)  # type: ignore[attr-defined]  # a BatchOperator's


BACKFILL_PAGES = ("parity", "quality")
"""The pages of a backfill."""


def page_of(operator: BaseOperator, page: str) -> str:
    """Return the path of a page of the operator's unit, also when Airflow is served below a path."""
    return _path(f"units/{operator.unit}/{page}")  # type: ignore[attr-defined]  # a WatchOperator's


def backfill_page(backfill_id: str, page: str) -> str:
    """Return the path of a page of a backfill."""
    return _path(f"backfills/{backfill_id}/{page}")


def table_quality_page(pipeline: str) -> str:
    """Return the path of the newest quality page of a pipeline's table."""
    return _path(f"quality/{pipeline}/report")


def address_of(path: str) -> str:
    """Return where a browser finds a path, as far as the configuration says."""
    base = urlsplit(conf.get("api", "base_url", fallback=""))
    return f"{base.scheme}://{base.netloc}{path}" if base.netloc else path


def _page_of_backfill(operator: BaseOperator, page: str) -> str:
    backfill_id: str | None = operator.backfill_id  # type: ignore[attr-defined]  # a BackfillOperator's
    return "" if backfill_id is None else backfill_page(backfill_id, page)


def _path(page: str) -> str:
    below = urlsplit(conf.get("api", "base_url", fallback="")).path.rstrip("/")
    return f"{below}{PREFIX}/{page}"
