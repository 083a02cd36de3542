"""Links in Airflow's UI: from a watch to the driver's Spark UI and log, from a batch to the pages that it made.

Where a driver's are is only known once it runs, long after Airflow stores a link. So a link names a page of ours, which
checks when it is opened: one of the console's, see `sluice.airflow.web.console`.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from airflow.sdk import BaseOperator, BaseOperatorLink
from airflow.sdk.configuration import conf
from airflow.sdk.types import TaskInstanceKey

PREFIX = "/sluice"
"""Where the pages are mounted in Airflow's web server."""


class PageLink(BaseOperatorLink):
    """Opens a page of the console.

    Attributes:
        page: its path below `PREFIX`, with attributes of the operator.
    """

    page: str = ""

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the page's path; empty if no backfill was claimed."""
        _ = ti_key
        return "" if getattr(operator, "backfill_id", "") is None else _path(self.page.format(operator=operator))


class SparkUiLink(PageLink):
    """Opens the page that redirects to the Spark UI of the unit's driver."""

    name = "Spark UI"
    page = "units/{operator.unit}/spark-ui"


class DriverLogLink(PageLink):
    """Opens the end of the driver's log."""

    name = "Driver log"
    page = "units/{operator.unit}/log"


class ParityLink(PageLink):
    """Opens the comparison that a backfill made."""

    name = "Parity"
    page = "backfills/{operator.backfill_id}/parity"


class QualityLink(PageLink):
    """Opens the result of a backfill's quality gate."""

    name = "Quality"
    page = "backfills/{operator.backfill_id}/quality"


class TableQualityLink(PageLink):
    """Opens the newest result of the suite on a pipeline's published table."""

    name = "Newest quality"
    page = "quality/{operator.pipeline}/report"


class ProofLink(PageLink):
    """Opens the newest proof of a pipeline."""

    name = "Proof"
    page = "proofs/{operator.pipeline}"


BACKFILL_PAGES = ("parity", "quality")
"""The pages of a backfill."""


def backfill_page(backfill_id: str, page: str) -> str:
    """Return the path of a page of a backfill."""
    return _path(f"backfills/{backfill_id}/{page}")


def address_of(path: str) -> str:
    """Return where a browser finds a path, as far as the configuration says."""
    base = urlsplit(conf.get("api", "base_url", fallback=""))
    return f"{base.scheme}://{base.netloc}{path}" if base.netloc else path


def _path(page: str) -> str:
    below = urlsplit(conf.get("api", "base_url", fallback="")).path.rstrip("/")
    return f"{below}{PREFIX}/{page}"
