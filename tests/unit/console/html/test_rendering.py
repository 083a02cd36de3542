"""Sentences of verdicts on a page: commands are code, and nothing of a record becomes markup."""

from __future__ import annotations

import pytest

from sluice.console.html.rendering import prose


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("run `sluice streams resume a`.", "run <code>sluice streams resume a</code>."),
        ("`one` and `two`", "<code>one</code> and <code>two</code>"),
        ("a tick ` alone", "a tick ` alone"),
        ("`<b>` & <i>", "<code>&lt;b&gt;</code> &amp; &lt;i&gt;"),
        ("", ""),
    ],
)
def test_what_stands_between_backticks_is_code(text: str, html: str) -> None:
    assert str(prose(text)) == html
