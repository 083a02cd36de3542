"""Contracts of a project: every fault is found at its line, and a published version stays what it was."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner, Result

from sluice.cli.main import app
from sluice.errors import SpecError
from sluice.feeds.nycflights13 import Nycflights13
from sluice.settings import settings
from sluice.specs.code.closure import meaning
from sluice.specs.load import scan
from sluice.specs.reading.faults import Fault, SpecFaults
from sluice.specs.rules.contracts import contracts_hold
from sluice.specs.rules.rules import RULES
from tests.unit.specs.bench import TOPIC_FILE, Bench

HOME = Path(__file__).parents[4]
ONE = """\
{
  "type": "object",
  "required": ["id", "ordered_at", "seen_at"],
  "properties": {
    "id": {"type": "integer", "minimum": 0},
    "shop": {"enum": ["north", "south"]},
    "ordered_at": {"type": "string", "format": "date-time"},
    "seen_at": {"type": "string", "format": "date-time"}
  }
}
"""
AVSC = """\
{
  "type": "record", "name": "Order",
  "fields": [
    {"name": "id", "type": "long"},
    {"name": "ordered_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "seen_at", "type": {"type": "long", "logicalType": "timestamp-millis"}}
  ]
}
"""


def place(number: int, ending: str = "json") -> str:
    return f"include/schemas/orders/{number}.{ending}"


def faults(bench: Bench) -> tuple[Fault, ...]:
    return scan(bench.include, rules=(*RULES, contracts_hold)).faults


def contracts(bench: Bench, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    with monkeypatch.context() as inside:
        inside.setenv("SLUICE_HOME", str(bench.home))
        settings.cache_clear()
        return CliRunner().invoke(app, ["contracts", *arguments], catch_exceptions=False)


@pytest.fixture
def published(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench.write(place(1), ONE)
    assert "Version 1 of orders is published" in contracts(bench, monkeypatch, "publish", "orders").stdout
    return bench


@pytest.mark.parametrize("text", [ONE, AVSC])
def test_a_first_version_that_promises_what_the_spec_reads_is_sound(bench: Bench, text: str) -> None:
    bench.write(place(1, "json" if text is ONE else "avsc"), text)
    assert faults(bench) == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('"integer", "minimum": 0', '"string"', 5, "id: is string, which does not read as the long of the spec"),
        (
            '"integer", "minimum": 0',
            '["integer", "null"]',
            5,
            "id: may be absent or null, and the spec of orders requires",
        ),
        ('["id", ', "[", 5, "id: may be absent or null"),
        ('    "id": {"type": "integer", "minimum": 0},\n', "", 3, "required: 'id' is required, and no property says"),
        ('"type": "string", "format": "date-time"},', '"type": "string"},', 7, "does not read as the timestamp"),
        ('"enum"', '"enumm"', 6, "'enumm' cannot be compared between versions"),
        ('"enum"', "enum", 6, "is not JSON"),
        ('"type": "object",', '"type": "array",', 4, "'properties' says nothing about a value of type array"),
    ],
)
def test_a_version_that_does_not_fit_is_refused_at_its_line(
    bench: Bench, old: str, new: str, line: int, said: str
) -> None:
    assert old in ONE
    bench.write(place(1), ONE.replace(old, new, 1))
    found = faults(bench)
    assert any(said in str(fault) and (fault.file, fault.line) == (place(1), line) for fault in found), found


def test_a_field_that_the_spec_requires_is_in_every_version(published: Bench) -> None:
    published.write(place(2), ONE)
    published.edit(TOPIC_FILE, "    beat:", "    city: {type: string, required: true}\n    beat:")
    assert {(fault.file, fault.where) for fault in faults(published)} == {(place(1), "city"), (place(2), "city")}


@pytest.mark.parametrize(
    ("old", "new", "kind", "said"),
    [
        ('"minimum": 0', '"minimum": 1', "backward", "it may be below 1".removeprefix("it ")),
        ('["north", "south"]', '["north"]', "backward", '"south", which is not taken'),
        ('["north", "south"]', '["north", "south", "east"]', "backward", None),
        ('["north", "south"]', '["north", "south", "east"]', "forward", '"east", which is not taken'),
        ('["north", "south"]', '["north", "south", "east"]', "full", '"east", which is not taken'),
        ('["north", "south"]', '["north"]', "none", None),
    ],
)
def test_the_newest_version_goes_with_the_one_before(
    published: Bench, old: str, new: str, kind: str, said: str | None
) -> None:
    published.edit(TOPIC_FILE, "  event_time:", f"  compatibility: {kind}\n  event_time:")
    published.write(place(2), ONE.replace(old, new))
    found = faults(published)
    if said is None:
        assert found == ()
        return
    (fault,) = found
    assert said in fault.message
    assert (fault.file, fault.line) == (place(2), 5 if "minimum" in old else 6)
    assert ("of version 2 under version 1" in fault.message) is (kind != "backward")


def test_a_break_in_two_steps_is_found_by_default_and_not_without_transitivity(
    published: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = ONE.replace('    "shop": {"enum": ["north", "south"]},\n', "")
    published.write(place(2), without)
    contracts(published, monkeypatch, "publish", "orders")
    published.write(place(3), ONE.replace('{"enum": ["north", "south"]}', '{"type": "integer"}'))
    found = [fault for fault in faults(published) if "version 3" in fault.message and fault.where == "shop"]
    assert any("of version 1 under version 3" in fault.message for fault in found)
    published.edit(TOPIC_FILE, "  event_time:", "  compatibility: backward\n  event_time:")
    assert not any("version 1 under" in fault.message for fault in faults(published))


def test_one_breach_with_several_versions_is_one_fault(published: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    published.write(place(2), ONE.replace('["north", "south"]', '["north", "south", "east"]'))
    contracts(published, monkeypatch, "publish", "orders")
    published.write(place(3), ONE.replace('"minimum": 0', '"minimum": 1').replace('["north', '["east", "north'))
    (fault,) = faults(published)
    assert "records of versions 1, 2 under version 3" in fault.message


def test_a_published_version_stays_what_it_was(published: Bench) -> None:
    published.write(place(1), json.dumps(json.loads(ONE)))  # layout says nothing
    assert faults(published) == ()
    published.write(place(1), ONE.replace('"minimum": 0', '"minimum": 1'))
    (fault,) = faults(published)
    assert "is not what it was when it was published" in fault.message
    assert "write the change as version 2" in fault.fix
    (published.home / place(1)).unlink()
    assert any("its file is gone" in fault.message for fault in faults(published))


def test_what_lies_in_the_folder_and_is_no_version_is_refused(bench: Bench) -> None:
    bench.write(place(1), ONE)
    bench.write(place(1, "avsc"), AVSC)
    bench.write("include/schemas/orders/notes.txt", "x")
    bench.write("include/schemas/orders/README.md", "for people")
    bench.write("include/schemas/ordres/2.json", ONE)
    said = {str(fault) for fault in faults(bench)}
    for words in (
        "version 1 is there twice",
        "notes.txt:1: is no version of a contract",
        "there is no version 1; ",
        "there is no topic 'ordres' in include/topics. Fix: did you mean 'orders'?",
    ):
        assert any(words in each for each in said), words
    assert not any("README" in each for each in said)


def test_a_draft_before_the_newest_is_published_with_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.write(place(1), ONE)
    bench.write(place(2), ONE)
    (fault,) = faults(bench)
    assert "version 1 is not published" in fault.message
    contracts(bench, monkeypatch, "publish", "orders")
    assert faults(bench) == ()
    listed = json.loads(contracts(bench, monkeypatch, "list", "-o", "json").stdout)
    assert [(each["version"], each["published"]) for each in listed] == [(1, True), (2, True)]
    assert "is already published" in contracts(bench, monkeypatch, "publish", "orders").stdout


def test_what_is_broken_is_not_published(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SpecError, match="has no contract in include/schemas"):
        contracts(bench, monkeypatch, "publish", "orders")
    bench.write(place(1), ONE.replace('"integer", "minimum": 0', '"string"'))
    with pytest.raises(SpecFaults, match="does not read as the long"):
        contracts(bench, monkeypatch, "publish", "orders")
    assert not (bench.home / "include/schemas/orders/published.json").exists()


def test_two_languages_do_not_go_together_and_compatibility_is_no_part_of_the_code(published: Bench) -> None:
    before = scan(published.include).catalog
    published.write(place(2, "avsc"), AVSC)
    (fault,) = faults(published)
    assert "is written in another schema language" in fault.message
    published.edit(TOPIC_FILE, "  event_time:", "  compatibility: none\n  event_time:")
    after = scan(published.include).catalog
    assert faults(published) == ()
    pipeline = before.pipelines["sales"]
    assert meaning(pipeline, before.topics) == meaning(pipeline, after.topics)


def test_the_shipped_contracts_hold() -> None:
    assert scan(HOME / "include", rules=(*RULES, contracts_hold)).faults == ()


def test_the_shipped_records_keep_the_shipped_contract() -> None:
    schema = json.loads((HOME / "include/schemas/flights/1.json").read_text())
    validator = Draft202012Validator(schema)
    feed = Nycflights13.load().records(date(2013, 2, 8), date(2013, 2, 9))  # a blizzard: many are cancelled
    records = [dict(record.value) for record in feed]
    assert any(value["cancelled"] for value in records)
    assert [error.message for value in records for error in validator.iter_errors(value)] == []
    assert list(validator.iter_errors({**records[0], "origin": "BOS"}))


NESTED = """\
{
  "type": "object",
  "required": ["ordered_at", "seen_at", "user"],
  "properties": {
    "ordered_at": {"type": "string", "format": "date-time"},
    "seen_at": {"type": "string", "format": "date-time"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "user": {"type": "object", "required": ["id"], "properties": {
      "id": {"type": "integer"},
      "name": {"type": "string"}
    }}
  }
}
"""


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("id: {type: integer, required: true, path: $.user.id}", ""),
        ("id: {type: decimal, precision: 9, path: $.user.id}", ""),
        ("id: {type: array, items: {type: string}, path: $.tags}", ""),
        ("id: {type: map, values: {type: string}, path: $.user}", ""),
        (
            "id: {type: map, values: {type: string}, path: $.tags}",
            "is array, or nothing, which does not read as the map",
        ),
        ("id: {type: integer, required: true, path: $.user.no}", "does not have it"),
        ("id: {type: integer, required: true, path: $.tags.id}", "does not have it"),
        ("id: {type: string, required: true, path: $.user.name}", "may be absent or null"),
        ("id: {type: date, path: $.user.id}", "is integer, which does not read as the date"),
    ],
)
def test_a_contract_is_compared_with_what_paths_read(bench: Bench, field: str, said: str) -> None:
    bench.write(place(1), NESTED)
    bench.edit(TOPIC_FILE, "id: {type: long, required: true, minimum: 0}", field)
    found = faults(bench)
    assert [said in str(fault) for fault in found] == ([True] if said else []), found
