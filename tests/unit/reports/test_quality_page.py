"""The page of a quality gate shows what was found, and needs nothing but itself."""

from __future__ import annotations

import re

import pytest
from jinja2 import UndefinedError

from sluice.quality.check_result import CheckResult
from sluice.quality.gate import GateResult, judge
from sluice.reports.page import render
from sluice.reports.quality import quality_page
from sluice.specs.expectations.model import Severity
from tests.unit.quality.suites import expectation, suite

SUITE = suite(expectation("carrier"), expectation("hour"), expectation("airline", Severity.WARNING))
FACTS = {"Intervals": "2013-01-01 to 2013-01-07"}


def result(*fates: str) -> GateResult:
    outcomes = {
        position: CheckResult.failed(one, "<script>alert(1)</script>")
        if fate == "raised"
        else CheckResult.of(
            one, success=fate == "holds", unexpected=3, observed="3 of 1,200 rows", sample=("<b>", "A&B")
        )
        for position, (one, fate) in enumerate(zip(SUITE.expectations, fates, strict=True))
    }
    return judge(SUITE, outcomes, rows=1_200, input_records=33_000)


def page(found: GateResult) -> str:
    return quality_page(found, title="departures", facts=FACTS)


def verdict(html: str) -> tuple[str, str]:
    found = re.search(r'<p class="verdict (\w+)">([^<]+)</p>', html)
    assert found is not None
    return found[1], found[2]


@pytest.mark.parametrize(
    ("fates", "expected"),
    [
        (("holds", "holds", "holds"), ("good", "passed")),
        (("holds", "holds", "not"), ("warning", "passed with warnings")),
        (("holds", "not", "holds"), ("bad", "failed")),
        (("holds", "holds", "raised"), ("bad", "failed")),
    ],
    ids=["all-hold", "a-warning", "a-critical-failure", "an-error"],
)
def test_the_verdict_is_a_word_and_a_colour(fates: tuple[str, ...], expected: tuple[str, str]) -> None:
    assert verdict(page(result(*fates))) == expected


def test_the_overview_counts() -> None:
    html = page(result("holds", "holds", "not"))
    for text in ("2013-01-01 to 2013-01-07", "2 of 3 hold", "1,200", "33,000", "sales"):
        assert f"<dd>{text}</dd>" in html


def test_what_stops_comes_first() -> None:
    html = page(result("holds", "not", "not"))
    assert re.findall(r'<span class="mark (\w+)">(\w+)</span>', html) == [
        ("bad", "failed"),
        ("warning", "warning"),
        ("good", "holds"),
    ]


def test_values_and_errors_cannot_become_markup() -> None:
    html = page(result("not", "raised", "holds"))
    assert "<script" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "A&amp;B" in html


def test_a_pipeline_without_a_suite_has_a_page_that_says_so() -> None:
    html = page(judge(None, {}, rows=None, input_records=5))
    assert verdict(html) == ("bad", "failed")
    assert "could not be counted" in html
    assert "has no suite" in html


def test_a_page_needs_no_network_and_runs_no_script() -> None:
    html = page(result("holds", "not", "raised"))
    assert re.search(r"https?:|//|@import|url\(|<script|<link|<img", html) is None
    assert "default-src 'none'" in html


def test_a_page_fits_phones_and_dark_rooms() -> None:
    html = page(result("holds", "holds", "holds"))
    assert 'name="viewport"' in html
    assert "prefers-color-scheme: dark" in html


def test_a_template_does_not_guess_what_it_was_not_given() -> None:
    with pytest.raises(UndefinedError):
        render("quality.html", title="t", verdict="v", tone="good", facts={})
