"""The page of terms, and the tables that hand-written pages include from the code."""

from __future__ import annotations

import re
from itertools import groupby

from generate.markdown import code, table
from sluice.cli.glossary.entries import entries
from sluice.console.metrics.catalogue import CATALOGUE
from sluice.quality.reasons import Reason

_HEAD = """# Terms

Made from the code by `make references`. This page lists the terms of Sluice's design, and the values that it prints in
tables, pages, metrics and logs. `sluice explain <term>` prints the same explanations.
"""
_ELSEWHERE = {
    "reasons of the quarantine": "[Validation](validation.md#reasons) has them, in the order in which they are judged."
}
"""Kinds whose table is on another page."""


def glossary_page() -> str:
    """Return the page."""
    sections = [_HEAD]
    for kind, group in groupby(entries(), key=lambda entry: entry.kind):
        rows = ((code(entry.term), entry.meaning, entry.what_to_do) for entry in group)
        content = _ELSEWHERE.get(kind) or table(("term", "meaning", "what to do"), rows)
        sections += [f"## {kind.capitalize()}\n", content, ""]
    return "\n".join(sections)


def with_catalogue(page: str) -> str:
    """Return the page of metrics with the catalogue of the code as the table of its last section."""
    rows = (
        (code(metric.name), metric.kind.value, ", ".join(map(code, metric.labels)), metric.help) for metric in CATALOGUE
    )
    return _with_table(page, "Catalogue", table(("metric", "kind", "labels", "what it is"), rows))


def with_reasons(page: str) -> str:
    """Return the page of validation with the reasons of the code as the table of its section."""
    rows = ((code(reason), reason.meaning, reason.what_to_do) for reason in Reason)
    return _with_table(page, "Reasons", table(("reason", "meaning", "what to do"), rows))


def _with_table(page: str, heading: str, new: str) -> str:
    """Return a page with another table in place of the first one of a section."""
    first_table = re.compile(rf"(^## {heading}\n(?:[^|#\n].*\n|\n)*)(?:\|.*\n)+", re.MULTILINE)
    return first_table.sub(lambda section: f"{section[1]}{new}\n", page, count=1)
