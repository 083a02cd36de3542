"""`sluice quarantine` without Spark: cases and what is said of records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from sluice.cli.main import app
from sluice.cli.terminal.output import out_lines
from sluice.cli.views.quarantine_view import hex_dump, print_record, record_as_dict
from sluice.errors import RefusedError, SpecError
from sluice.quality.quarantine import Quarantined
from sluice.quality.reasons import Reason
from tests.suites.cases_suite import opened
from tests.twins.clock import START
from tests.twins.departures_project import DeparturesProject

RECORD = Quarantined(
    ("topic-id", 3, 1_234), START, Reason.MALFORMED, (), b"Jane\x1b[2J", b'{"name": "Jane 7\xff', (("h", b"Jane"),)
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeparturesProject:
    return DeparturesProject.create(tmp_path, monkeypatch)


def quarantine(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["quarantine", *arguments], catch_exceptions=False)


def test_a_case_is_fixed_reopened_and_discarded_and_says_what_happened(place: DeparturesProject) -> None:
    place.project.records.cases().open(opened("departures-q1", of="departures"))
    assert "sluice quarantine replay departures-q1" in quarantine("fix", "departures-q1", "--why", "mended").stdout
    quarantine("reopen", "departures-q1", "--why", "not quite")
    shown = quarantine("discard", "departures-q1", "--why", "a test of theirs").stdout
    for word in ("open: who sends these?", "fixed: mended", "open: not quite", "discarded: a test of theirs"):
        assert word in shown
    assert "0:5-6; 3:9" in shown
    found = json.loads(quarantine("show", "departures-q1", "-o", "json").stdout)
    assert [event["state"] for event in found["events"]] == ["open", "fixed", "open", "discarded"]
    assert (found["records"], found["offsets"]) == (3, "0:5-6; 3:9")


@pytest.mark.parametrize(
    ("pattern", "by", "said"),
    [("(a", "b", "--pattern: .*is no regular expression"), ("a", "$1", r"--by: .*it uses \$1")],
)
def test_a_patch_is_refused_before_anything_is_started(
    place: DeparturesProject, pattern: str, by: str, said: str
) -> None:
    place.project.records.cases().open(opened("departures-q1", of="departures"))
    with pytest.raises(SpecError, match=said):
        quarantine("patch", "departures-q1", "--pattern", pattern, "--by", by)


def test_cases_are_listed(place: DeparturesProject) -> None:
    place.project.records.cases().open(opened("departures-q1", of="departures"))
    assert "departures-q1" in quarantine("cases").stdout
    assert json.loads(quarantine("cases", "sales", "-o", "json").stdout) == []


def test_an_impossible_request_is_refused(place: DeparturesProject) -> None:
    place.project.records.cases().open(opened("departures-q1", of="departures"))
    with pytest.raises(SpecError, match="there is no case 'nobody'"):
        quarantine("show", "nobody")
    with pytest.raises(SpecError, match="the reason is missing"):
        quarantine("fix", "departures-q1", "--why", " ")
    quarantine("discard", "departures-q1", "--why", "a test")
    with pytest.raises(RefusedError, match="is discarded since"):
        quarantine("fix", "departures-q1", "--why", "mended")


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (("list", "arrivals"), "no pipeline"),
        (("list", "departures", "--offsets", "9-"), "--offsets '9-' is not a range"),
        (("list", "departures", "--offsets", "a-b"), "is not a range"),
        (("record", "departures", "7"), "'7' is not the position of a record"),
    ],
)
def test_a_wrong_argument_is_refused_before_spark_starts(arguments: tuple[str, ...], refusal: str) -> None:
    with pytest.raises(SpecError, match=refusal):
        quarantine(*arguments)


def test_bytes_are_shown_so_that_no_terminal_obeys_them() -> None:
    with out_lines.capture() as captured:
        print_record("flights", RECORD, masked=False)
    shown = captured.get()
    assert "\x1b" not in shown
    assert "flights/3 offset 1,234" in shown
    assert "Jane\\x1b[2J" in shown
    assert "7b 22 6e 61" in shown
    assert record_as_dict("flights", RECORD, masked=False)["value"] == '{"name": "Jane 7\\xff'


def test_masked_nothing_of_the_values_is_left() -> None:
    with out_lines.capture() as captured:
        print_record("flights", RECORD, masked=True)
    text = captured.get() + json.dumps(record_as_dict("flights", RECORD, masked=True))
    assert "Jane" not in text
    assert "4a 61" not in text
    assert "Xxxx 9" in text


@given(st.binary(max_size=70))
def test_a_dump_has_every_byte(data: bytes) -> None:
    lines = list(hex_dump(data))
    assert bytes.fromhex("".join(line[10:57] for line in lines)) == data
    assert all(line.isascii() and line.isprintable() for line in lines)
