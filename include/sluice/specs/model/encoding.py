"""How a topic's values are written: JSON or Avro, bare or framed, under which versions of its contract."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, SkipValidation, model_validator
from pydantic.json_schema import SkipJsonSchema

from sluice.contracts.breach import Loc
from sluice.contracts.contract import AVRO, JSON_SCHEMA
from sluice.specs.model.spec import Spec

MAX_IDS = 1_000


class Encoding(Spec):
    """What the bytes of a value are."""

    format: Literal["json", "avro"] = "json"
    framing: Literal["none", "confluent"] = "none"
    """`confluent`: before the value stand a zero and the id of a schema in a registry, in four bytes."""
    version: int | None = Field(default=None, ge=1)
    """The version of the contract that every record is written under; of Avro without framing."""
    schemas: dict[Annotated[int, Field(ge=0, lt=1 << 31)], Annotated[int, Field(ge=1)]] = Field(
        default_factory=dict, max_length=MAX_IDS
    )
    """With framing: the version of the contract that each id of the registry stands for. A record with another id is
    quarantined as `unknown_schema`."""
    written: SkipJsonSchema[Annotated[Mapping[int, str], SkipValidation]] = Field(default_factory=dict)
    """Not for specs: the text of each Avro schema, by the version, which the loader reads from the contract."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if fault := self._fault():
            raise ValueError(fault)
        return self

    def _fault(self) -> str:
        framed, one = self.framing == "confluent", self.version is not None
        faults = {
            "`written` is no key of a spec; name versions of the contract": bool(self.written),
            "the framing is confluent, and `schemas` names no id; write `schemas: {<id>: <version>}`": (
                framed and not self.schemas
            ),
            "each id has a version of its own; remove `version`": framed and one,
            "`schemas` are ids in the frames of values, and there is no framing; write `framing: confluent`": (
                not framed and bool(self.schemas)
            ),
            "nothing in Avro says under which schema it was written; write `version`, or `framing: confluent`": (
                not framed and not one and self.format == "avro"
            ),
            "JSON is read without a schema; remove `version`": not framed and one and self.format == "json",
        }
        return next((fault for fault, holds in faults.items() if holds), "")

    @property
    def versions(self) -> Mapping[Loc, int]:
        """The versions of the contract that it names, by where it names them."""
        named: dict[Loc, int] = {("schemas", str(key)): version for key, version in self.schemas.items()}
        if self.version is not None:
            named["version",] = self.version
        return named

    def contract_file(self, folder: Path, version: int) -> Path:
        """Return the file of a version."""
        return folder / f"{version}{AVRO if self.format == 'avro' else JSON_SCHEMA}"

    def missing(self, folder: Path) -> Iterator[tuple[Loc, str]]:
        """Yield which versions are not there: where they are named, and the name of their file.

        Args:
            folder: of the topic's contract.
        """
        for loc, version in self.versions.items():
            file = self.contract_file(folder, version)
            if not file.is_file():
                yield loc, file.name

    def with_schemas(self, folder: Path) -> Self:
        """Return it with the text of the Avro schemas that it names; those that are not there are left out."""
        if self.format != "avro":
            return self
        files = {version: self.contract_file(folder, version) for version in sorted(set(self.versions.values()))}
        texts = {version: file.read_text("utf-8") for version, file in files.items() if file.is_file()}
        return self.model_copy(update={"written": texts})
