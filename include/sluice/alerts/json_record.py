"""Dataclasses that are stored and sent as JSON objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError


class JsonRecord:
    """A dataclass whose fields are JSON values, or are written as such."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        values: dict[str, Any] = _adapter(type(self)).dump_python(self, mode="json")
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the record that `as_dict` wrote.

        Raises:
            ValueError: it did not write these values.
        """
        try:
            record: Self = _adapter(cls).validate_python(dict(values))
        except ValidationError as error:
            raise ValueError(f"no {cls.__name__}: {error}") from error
        return record


_ADAPTERS: dict[type[JsonRecord], TypeAdapter[Any]] = {}


def _adapter(kind: type[JsonRecord]) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]
