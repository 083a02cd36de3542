"""The page of a proof: what it shows of a report, and that nothing in a report becomes markup or breaks the page."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.console.html.proof_page import MOST_ROWS, facts_of, latency_chart, proof_page, timeline_chart, waiting_chart
from sluice.proof.findings import ProofVerdict
from sluice.proof.report import ProofReport
from tests.twins.console_fleet import HOSTILE
from tests.unit.proof.report_files import report_of

NOW = datetime(2013, 1, 15, 12, tzinfo=UTC)
ID = "departures-20130115T000000-0000abcd"
LEAST = {"proof": ID, "pipeline": "departures"}


def plain(text: str) -> str:
    return text


def report(verdict: ProofVerdict = ProofVerdict.BROKEN, says: Any = plain, **parts: Any) -> ProofReport:  # noqa: ANN401 - JSON
    return ProofReport.model_validate({**report_of(ID, "departures", verdict, says, NOW), **parts})


def words_of(page: str) -> str:
    """Return what is to be read, in one line."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page[page.index("<main") :])).split())


def test_the_verdict_comes_first_then_what_was_found_and_what_to_do() -> None:
    words = words_of(proof_page(report(), NOW))
    assert words.startswith("Proof of departures broken An output breaks a promise. What to do: read the findings")
    for said in (
        "lost_tail the last acknowledged records of a partition are not in the output",
        "p1-4499 key key-3, acknowledged at 2/1499",
        "9,000 acknowledged, 0 failed, 3 unknown",
        "kill-driver 2013-01-15 11:57:00 healed after 12 s process 7 is gone",
        "pause-driver 2013-01-15 11:58:00 no evidence nothing shows that it struck",
        "departures_raw 2 3,000 2,993 7 0 0",
        "departures 6 0 0",
        "Worst minute, shaded: 2.5 s (promised 5 s) on average. 99.9th percentile, dashed: 11.5 s.",
    ):
        assert said in words, said


@pytest.mark.parametrize("verdict", list(ProofVerdict))
def test_each_verdict_has_its_word_beside_its_colour(verdict: ProofVerdict) -> None:
    tone = {"proven": "good", "broken": "bad", "inconclusive": "warning"}[verdict]
    assert f'<span class="mark {tone}">{verdict}</span>' in proof_page(report(verdict), NOW)


def test_alerts_and_what_records_were_made_to_be_are_on_the_page() -> None:
    beside = [f"gate {HOSTILE}"]
    page = proof_page(report(made={"good": 1000, "late": 3}, alerts=["stalled"], alerts_beside=beside), NOW)
    words = words_of(page)
    assert "Made to be 1,000 good, 3 late" in words
    assert "Alerts stalled Alerts of the deployment meanwhile gate" in words
    assert "<img" not in page


def test_a_report_that_holds_nothing_is_a_page() -> None:
    words = words_of(proof_page(ProofReport.model_validate({**LEAST, "verdict": "inconclusive"}), NOW))
    assert "None was requested: this proof shows the pipeline in calm weather." in words
    assert "The report counts no records of outputs." in words
    assert "Over time" not in words


def test_a_huge_report_is_a_page_of_bounded_size_and_what_is_wrong_stays_on_it() -> None:
    many = {
        "findings": [{"fault": "lost", "where": f"output {n}", "count": 2**62} for n in range(2_000)],
        "faults": [{"name": f"fault {n}", "at": 1.0, "evidence": "x" * 100_000} for n in range(2_000)],
        "latencies": {f"output {n}": {"records": 1, "worst_minute": 1, "p999": 1} for n in range(500)},
        "sent": {"acknowledged": 2**62},
        "figures": {
            "timeline": {
                "at": [float(n) for n in range(5_000)],
                "sent": list(range(5_000)),
                "acknowledged": list(range(5_000)),
                "read": {f"output {n}": list(range(5_000)) for n in range(100)},
            },
            "minutes": {
                f"output {n}": [{"at": 60.0 * k, "records": 1, "mean": 1, "slowest": 1} for k in range(600)]
                for n in range(100)
            },
            "partitions": {
                "raw": [{"partition": n, "sent": 1, "found": 1, "lost": int(n == 4_999)} for n in range(5_000)]
            },
            "intervals": {f"table {n}": {"equal": n} for n in range(1_000)},
        },
    }
    page = proof_page(ProofReport.model_validate({**LEAST, "verdict": "broken", **many}), NOW)
    assert len(page) < 2_000_000
    words = words_of(page)
    assert "raw 4999 1 1 1 0 0" in words
    assert f"and {5_000 - MOST_ROWS:,} more in report.json ; those with something wrong come first" in words
    assert "and 1,900 more in report.json" in words


class _Elements(HTMLParser):
    """Collects the names of elements and of their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_whatever_a_report_says_is_text() -> None:
    calm = _Elements(proof_page(report(), NOW))
    hostile = report(ProofVerdict.BROKEN, lambda text: f"{text} {HOSTILE}", further=HOSTILE, **{HOSTILE: 7})
    page = proof_page(hostile, NOW)
    assert _Elements(page).names == calm.names
    assert _Elements(page).attributes == calm.attributes
    assert not {"script", "img"} & calm.names
    assert unescape(page).count(HOSTILE) > 10


def test_a_page_loads_nothing_and_takes_the_theme_of_the_browser() -> None:
    page = proof_page(report(), NOW)
    assert re.findall(r'(?:src|href)="', page) == []
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    assert "url(" not in page
    assert "data-theme" not in page
    assert page.count("@media (prefers-color-scheme: dark) { :root {") == 2
    assert "@import" not in page


@given(st.text(min_size=1), st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 2**62))
def test_any_text_and_any_number_can_be_shown(text: str, seconds: float, count: int) -> None:
    found = report(
        latencies={text: {"records": count, "worst_minute": seconds, "p999": seconds, "slowest": text}},
        sent={text: count},
        figures={
            "minutes": {text: [{"at": 0, "records": count, "mean": seconds, "slowest": seconds}]},
            "partitions": {text: [{"partition": count, "lost": None}]},
            "intervals": {text: {"different": count}},
        },
    )
    page = proof_page(found, NOW)
    assert "\x00" not in page
    assert page.rstrip().endswith("</html>")


def test_the_picture_of_records_shades_each_fault_and_says_so_in_words() -> None:
    chart = timeline_chart(report())
    assert chart is not None
    assert [shape.look for shape in chart.shapes] == ["span", "span", "line", "line", "line"]
    assert [label.text for label in chart.labels] == ["kill-driver", "pause-driver"]
    assert "Shaded: \u2068kill-driver\u2069 from 2013-01-15 11:57 to 2013-01-15 11:57:12 UTC" in chart.words


def test_the_picture_of_what_waits_shows_the_faults_too() -> None:
    chart = waiting_chart(report())
    assert chart is not None
    assert [shape.look for shape in chart.shapes] == ["span", "span", "line"]
    assert "Highest: 450" in chart.words
    assert waiting_chart(ProofReport.model_validate({**LEAST, "verdict": "proven"})) is None


def test_a_fault_that_was_not_survived_is_shaded_to_the_end() -> None:
    parts = report().model_dump(mode="json")["figures"]
    parts["spans"] = [{"name": "kill-driver", "at": parts["timeline"]["at"][30], "until": None}]
    chart = timeline_chart(report(figures=parts))
    assert chart is not None
    assert chart.shapes[0].path == "M500.0 0H1000.0V1000H500.0z"


def test_the_worst_minute_is_shaded_and_the_percentile_is_an_edge() -> None:
    found = report()
    chart = latency_chart("departures_raw", found.figures.minutes["departures_raw"], found)
    assert chart is not None
    assert [shape.look for shape in chart.shapes] == ["span calm", "edge", "line", "line"]
    assert chart.shapes[0].path == "M250.0 0H750.0V1000H250.0z"
    assert "worst minute" in chart.words
    assert latency_chart("departures_raw", (), found) is None


def test_the_overview_has_what_a_later_version_adds() -> None:
    facts = facts_of(report(late_records=12, further=["a"], nested={"a": 1}))
    assert facts["Late records"] == "12"
    assert facts["Lasted"] == "4 min 00 s"
    assert not {"Further", "Nested"} & facts.keys()
    backwards = report(ended=(NOW - timedelta(days=1)).isoformat())
    assert "Lasted" not in facts_of(backwards)
