"""The evidence about a failed task: the pages that its links open, and where a backfill's reports are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sluice.airflow.links import address_of
from sluice.settings import StateFolder


def task_facts(task: Any, folder: StateFolder) -> Iterator[str]:  # noqa: ANN401 - any operator
    """Yield one fact per page and report."""
    for link in getattr(task, "operator_extra_links", ()):
        if not type(link).__module__.startswith("sluice."):
            continue  # others ask Airflow for what they show, which may not answer now
        if page := link.get_link(task, ti_key=None):
            yield f"{link.name}: {address_of(page)}"
    backfill_id = getattr(task, "backfill_id", None)
    if isinstance(backfill_id, str):
        yield f"reports of backfill {backfill_id}: {folder.backfill(backfill_id)}"
