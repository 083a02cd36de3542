"""The page of words, and the tables that hand-written pages include from the code."""

from __future__ import annotations

import re
from itertools import groupby

from generate.markdown import code, table
from sluice.cli.glossary.entries import entries
from sluice.console.metrics.catalogue import CATALOGUE

_HEAD = """# Words

Made from the code by `make references`. This page lists the terms of Sluice's design, and the words that it prints in
tables, pages, metrics and logs. `sluice explain <word>` prints the same explanations.
"""


def glossary_page() -> str:
    """Return the page."""
    sections = [_HEAD]
    for kind, group in groupby(entries(), key=lambda entry: entry.kind):
        rows = ((code(entry.word), entry.meaning, entry.what_to_do) for entry in group)
        sections += [f"## {kind.capitalize()}\n", table(("word", "meaning", "what to do"), rows), ""]
    return "\n".join(sections)


def with_catalogue(page: str) -> str:
    """Return the page of metrics with the catalogue of the code as its last section."""
    rows = (
        (code(metric.name), metric.kind.value, ", ".join(map(code, metric.labels)), metric.help) for metric in CATALOGUE
    )
    catalogue = table(("metric", "kind", "labels", "what it is"), rows)
    return re.sub(r"(?<=^## Catalogue\n\n)(\|.*\n)+", lambda _: f"{catalogue}\n", page, flags=re.MULTILINE)
