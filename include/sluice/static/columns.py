"""The declared columns of a static input: which types of a table fit them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from sluice.errors import SpecError

ARROW: Mapping[str, pa.DataType] = {
    "string": pa.string(),
    "long": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "binary": pa.binary(),
}
"""By the type that a spec declares."""


def _is_text(kind: pa.DataType) -> bool:
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(value) or pa.types.is_large_string(value))


def _is_instant(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) and kind.tz is not None)


_FITTING: Mapping[str, Callable[[pa.DataType], bool]] = {
    "string": _is_text,
    "long": pa.types.is_integer,
    "double": pa.types.is_floating,
    "boolean": pa.types.is_boolean,
    "timestamp": _is_instant,
    "binary": lambda kind: bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind)),
}


def misfits(schema: pa.Schema, columns: Mapping[str, str]) -> dict[str, str]:
    """Return what is wrong with the columns of a typed table: a sentence by the name of the declared column."""
    found = {}
    for name, declared in columns.items():
        if name not in schema.names:
            found[name] = f"has no column {name!r}."
        elif not _FITTING[declared](kind := schema.field(name).type):
            unzoned = declared == "timestamp" and pa.types.is_timestamp(kind)
            why = ", which has no zone, and says no instant" if unzoned else ""
            found[name] = f"has the column {name!r} as {kind}{why}; {declared} is declared."
    return found


def fitted(table: pa.Table, columns: Mapping[str, str], where: str) -> pa.Table:
    """Return the declared columns of a typed table.

    Raises:
        SpecError: one is not there, has a type that does not fit, or holds a value beyond the declared type.
    """
    if found := misfits(table.schema, columns):
        raise SpecError(
            f"{where} {' It '.join(found.values())}",
            fix="correct the static input's `columns`, or what is read.",
        )
    try:
        return table.select(list(columns)).cast(schema_of(columns))
    except pa.ArrowInvalid as error:
        raise SpecError(f"{where} does not fit its declared columns: {error}.", fix="correct its values.") from None


def schema_of(columns: Mapping[str, str]) -> pa.Schema:
    """Return the columns of every static input that declares these."""
    return pa.schema([(name, ARROW[kind]) for name, kind in columns.items()])
