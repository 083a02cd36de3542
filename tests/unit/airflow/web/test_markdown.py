"""Whatever stands in a text, a reader of Markdown finds the same text in it and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from sluice.airflow.alerts.failure import printable
from sluice.airflow.web.markdown import as_text, table

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
NOTHING = "\u200b"

HOSTILE = (
    "a | b",
    "\\| x \\",
    "`code` ``",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[approve](https://evil.example)",
    "![x](y)",
    "https://evil.example",
    "*bold* _x_ __y__ ~~z~~",
    "&lt;b&gt; &#124;",
    "line\n| --- | --- |\n# title",
    "{{ ti.xcom_pull() }}",
    "\x1b[31m\x00",
    "- item",
    "ünïcode … 🛫",
)


def cells(markdown: str) -> list[list[Token]]:
    """Return the rows of a document that is one table: the content of each cell."""
    tokens = READER.parse(markdown)
    assert [tokens[0].type, tokens[-1].type] == ["table_open", "table_close"]
    rows: list[list[Token]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(token)
    return rows


def words(text: str) -> str:
    return " ".join(printable(text).split())


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=4))
@example(list(HOSTILE))
def test_a_cell_of_a_table_shows_its_text_and_nothing_else(texts: list[str]) -> None:
    header, row = cells(table([f"column {n}" for n in range(len(texts))], [texts]))

    assert len(header) == len(row) == len(texts)
    for cell, text in zip(row, texts, strict=True):
        assert {token.type for token in cell.children or []} <= {"text", "text_special"}, text
        shown = "".join(token.content for token in cell.children or [])
        assert shown.replace(NOTHING, "") == words(text).replace(NOTHING, ""), text


@pytest.mark.parametrize("address", ["https://evil.example", "www.evil.example", "WWW.evil.example", "a@evil.example"])
def test_no_address_is_whole_enough_to_become_a_link(address: str) -> None:
    (token,) = READER.parse(as_text(f"see {address}"))[1:2]
    shown = "".join(each.content for each in token.children or [])

    assert address not in shown
    assert shown.replace(NOTHING, "") == f"see {address}"


def test_a_usual_name_stays_readable_where_it_is_written() -> None:
    assert as_text("flights: retention.ms is -1, declared 2592000000 (50% of all)") == (
        "flights: retention.ms is -1, declared 2592000000 (50% of all)"
    )
