"""Long lists on several pages, so that a fleet of thousands is as quick as one of ten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import Query

Row = TypeVar("Row")
PageNumber = Annotated[int, Query(alias="page", ge=1, le=10_000)]

PAGE_ROWS = 50


def paged(rows: Sequence[Row], number: int, shown: Callable[[Row], Any] = lambda row: row) -> dict[str, Any]:
    """Return what a template needs for one page of rows, the last page if there are fewer.

    Args:
        rows: all of them.
        number: of the page, from 1.
        shown: makes what the template gets of a row on this page.
    """
    pages = max(1, -(-len(rows) // PAGE_ROWS))
    number = min(number, pages)
    own = rows[(number - 1) * PAGE_ROWS : number * PAGE_ROWS]
    return {"rows": list(map(shown, own)), "number": number, "pages": pages}
