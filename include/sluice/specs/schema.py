"""JSON Schemas of the specs, for editors that complete keys and mark mistakes while one types."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path

from pydantic.json_schema import GenerateJsonSchema

from sluice.specs.duration import format_duration
from sluice.specs.kinds import Kind


class _SpecSchema(GenerateJsonSchema):
    """Writes defaults as people do: an editor inserts them."""

    def encode_default(self, dft: object) -> object:
        """Return a default as YAML holds it."""
        return format_duration(dft) if isinstance(dft, timedelta) else super().encode_default(dft)


_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema(kind: Kind) -> dict[str, object]:
    """Return the schema of one file of a kind. Rules between specs, and some between keys, are `sluice check`'s."""
    return {"$schema": _DIALECT, **kind.model.model_json_schema(schema_generator=_SpecSchema)}


def write_schemas(folder: Path) -> list[Path]:
    """Write `<kind>.schema.json` for every kind and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for kind in Kind:
        file = folder / f"{kind}.schema.json"
        file.write_text(json.dumps(json_schema(kind), indent=2) + "\n", encoding="utf-8")
        files.append(file)
    return files


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]))
