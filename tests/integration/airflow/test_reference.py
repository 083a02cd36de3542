"""The page of the DAGs says what the DAGs say."""

from __future__ import annotations

from pathlib import Path

from generate.dags import dags_page
from sluice.specs.load import load_catalog

PROJECT = Path(__file__).parents[3]


def test_the_published_page_of_the_dags_is_current() -> None:
    made = dags_page(PROJECT / "dags", load_catalog(PROJECT / "include"))
    published = (PROJECT / "docs" / "reference" / "dags.md").read_text(encoding="utf-8")
    assert made == published, "run `make references`"
    assert "## `stream_<unit>`" in made
    assert "| `deadline_seconds` | integer, at least 1, at most 600 | `60` |" in made
