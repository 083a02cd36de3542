"""JSON Schemas of the specs, for editors that complete keys and mark mistakes while one types."""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import textwrap
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from sluice.specs.model.duration import format_duration
from sluice.specs.reading.kinds import Kind


class _SpecSchema(GenerateJsonSchema):
    """Writes defaults as people do, because an editor inserts them, and says of each key what its docstring says."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Return the schema of a model.

        Pydantic would read the docstrings too, from the source while the module is imported: every parsing of a DAG
        file would pay for that.
        """
        written = super().model_schema(schema)
        for name, text in _docstrings(schema["cls"]).items():
            if name in written.get("properties", {}):
                written["properties"][name].setdefault("description", text)
        return written

    def encode_default(self, dft: object) -> object:
        """Return a default as YAML holds it."""
        return format_duration(dft) if isinstance(dft, timedelta) else super().encode_default(dft)


def _docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return what stands below the fields of a model and of its bases."""
    docstrings: dict[str, str] = {}
    for owner in reversed(model.__mro__[: model.__mro__.index(BaseModel)]):
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
        body = definition.body if isinstance(definition, ast.ClassDef) else []
        for field, below in pairwise(body):
            match field, below:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                    docstrings[name] = inspect.cleandoc(text)
    return docstrings


_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema(kind: Kind) -> dict[str, object]:
    """Return the schema of one file of a kind. Rules between specs, and some between keys, are `sluice check`'s."""
    schema = TypeAdapter(kind.models).json_schema(schema_generator=_SpecSchema)
    return {"$schema": _DIALECT, **schema}


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
    _parser = argparse.ArgumentParser(prog="python -m sluice.specs.schema", description="Write the schemas.")
    _parser.add_argument("folder", type=Path)
    write_schemas(_parser.parse_args().folder)
