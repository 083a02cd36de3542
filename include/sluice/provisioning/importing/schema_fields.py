"""The fields of records under a schema, as a spec declares them: what Avro and Protobuf have in common. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from sluice.provisioning.importing.nested import distinct_names, path_of
from sluice.specs.model.model import FieldType

DEEPEST = 15
"""How many levels of fields are declared."""
MOST_FIELDS = 1_000
"""How many fields are declared: types that are used in many places multiply."""

Declared = Mapping[str, Any]
"""The keys of a field in a spec: `{"type": "array", "items": {"type": "long"}}`."""


class _Named(Protocol):
    @property
    def name(self) -> str: ...


Inner = TypeVar("Inner", bound=_Named)


@dataclass(frozen=True)
class SchemaField:
    """A field of records, from their schema.

    Attributes:
        declared: its keys in a spec, those of the fields inside too; `required` is among them.
        note: what is to be known of it, in a clause; empty where nothing is.
        may_be_time: whether it is a timestamp that a record has nearly always, though the schema lets it be absent.
    """

    declared: Declared
    note: str = ""
    may_be_time: bool = False


@dataclass(frozen=True)
class SchemaSample:
    """The fields of a schema.

    Attributes:
        fields: by the name in the spec, in the order of the schema.
        notes: what of the schema cannot be declared and why, in clauses.
    """

    fields: Mapping[str, SchemaField]
    notes: tuple[str, ...]


@dataclass
class Declaring:
    """What was declared so far of a schema, and what could not be."""

    notes: list[str] = field(default_factory=list)
    _declared: int = 0

    def leave_out(self, where: str, why: str) -> None:
        """Note a field that is not declared."""
        self.notes.append(f"{where}: left out, for {why}")

    def is_full(self, where: str, around: Sequence[str]) -> bool:
        """Count a field; if it is one too many, or too deep inside others, note that and return true."""
        self._declared += 1
        if len(around) >= DEEPEST:
            self.leave_out(where, f"it is more than {DEEPEST} levels deep")
        elif self._declared > MOST_FIELDS:
            self.leave_out(where, f"there are more than {MOST_FIELDS:,} fields")
        return len(around) >= DEEPEST or self._declared > MOST_FIELDS

    def record(
        self,
        record: tuple[str, str],
        fields: Sequence[Inner],
        declare: Callable[[Inner, str, tuple[str, ...]], Declared | None],
        place: Callable[[Declared, Declared, Inner], Declared],
        *,
        within: tuple[str, tuple[str, ...]],
    ) -> Declared | None:
        """Return a record as an object of its fields; None, with a note, if it is inside itself or empty of such.

        Args:
            record: its name, in full and for people.
            fields: what is inside it.
            declare: declares one, given where it is and the names of the records around it; None: it is left out.
            place: makes the declaration of a value, and its path, that of a field.
            within: where the record is, and the names of the records around it.
        """
        (name, shown), (where, around) = record, within
        if name in around:
            self.leave_out(where, f"{shown} is inside of itself, and a spec says how deep fields are")
            return None
        inside: dict[str, Declared] = {}
        for (key, path), each in zip(named_fields([each.name for each in fields]), fields, strict=True):
            declared = declare(each, f"{where}.{each.name}", (*around, name))
            if declared is not None:
                inside[key] = place(declared, path, each)
        if not inside:
            self.leave_out(where, "nothing inside it can be declared")
            return None
        return {"type": FieldType.OBJECT, "fields": inside}


def named_fields(keys: Sequence[str]) -> list[tuple[str, Declared]]:
    """Return the name of a field for each key of a record, with the `path` that it needs if it is another one."""
    names = distinct_names(keys, "field")
    return [(name, {} if name == key else {"path": path_of(key)}) for key, name in zip(keys, names, strict=True)]


def in_place(declared: Declared, path: Declared, *, required: bool) -> Declared:
    """Return the declaration of a value as that of a field: with whether it is always there, and its path."""
    kind, rest = declared["type"], {key: said for key, said in declared.items() if key != "type"}
    return {"type": kind, **({"required": True} if required else {}), **path, **rest}
