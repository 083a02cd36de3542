"""Fields that are read from the same place: one stands for them all there, and keeps the rules of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from sluice.proof.generation.made import UnmadeError
from sluice.proof.generation.shapes import FieldShape
from sluice.specs.model.fields import FieldType, ValueField

DECLARE = "correct the field's bounds in the topic, or prove a pipeline over another topic."
"""What to do where a field cannot have any content."""
_APART = "let the paths of the topic's fields lead to different places."


def in_one_place(shapes: Mapping[str, FieldShape]) -> dict[str, FieldShape]:
    """Return fields of which no two lead to the same place, and which no object has among its parts as well.

    Where no content keeps all the rules, optional fields are left out. An object that a path leads through is always
    there: with the field it comes anyway, and then it needs its other parts.

    Raises:
        UnmadeError: a required field has to be left out, or a path leads through a field that is no object.
    """
    found = dict(shapes)
    for first, *others in _by_place(shapes):
        taken: dict[str, FieldShape] = {}
        for around in [name for name in found if name != first]:
            if rest := _behind(found[around], around, shapes[first].field.keys(first)):
                parts, found[around] = _opened(found[around], around, rest)
                taken |= parts
        one: FieldShape | None = found.pop(first)
        alike = {name: found.pop(name) for name in others} | taken
        for name, other in alike.items():
            joined = one and _joined(one, other)
            if joined is None and any(each.field.required for each in (shapes[first], *alike.values())):
                raise UnmadeError(f"is read from the same place as {first}, as another type", DECLARE, name)
            one = joined
        if one is not None:
            found[first] = one
    return {name: found[name] for name in shapes if name in found}


def _by_place(shapes: Mapping[str, FieldShape]) -> Iterator[list[str]]:
    """Yield the names of the fields that lead to the same place, from the outside in."""
    places: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, shape in shapes.items():
        places[shape.field.keys(name)].append(name)
    yield from (names for _, names in sorted(places.items(), key=lambda place: len(place[0])))


def _behind(whole: FieldShape, name: str, keys: tuple[str, ...], inside: str = "") -> tuple[str, ...]:
    """Return the keys of a path behind an object that it leads through; none if it does not.

    Raises:
        UnmadeError: it leads through something else: a text has no parts, and those of a map have rules of their own.
    """
    own = whole.field.keys(name)
    rest = keys[len(own) :] if keys[: len(own)] == own else ()
    if rest and whole.field.type is not FieldType.OBJECT:
        raise UnmadeError("is no object, and another field is read from inside it", _APART, f"{inside}{name}")
    return rest


def _opened(whole: FieldShape, name: str, keys: tuple[str, ...]) -> tuple[dict[str, FieldShape], FieldShape]:
    """Return the parts of an object at a place, and the object without them."""
    taken: dict[str, FieldShape] = {}
    left: dict[str, FieldShape] = {}
    for own, part in whole.parts.items():
        if part.field.keys(own) == keys:
            taken[f"{name}.{own}"] = part
        elif rest := _behind(part, own, keys, f"{name}."):
            inner, left[own] = _opened(part, f"{name}.{own}", rest)
            taken |= inner
        else:
            left[own] = part
    return taken, replace(whole, always=True, parts=left)


def _joined(one: FieldShape, other: FieldShape) -> FieldShape | None:
    """Return a shape with the rules of both; None if they are of different types, or have other parts."""
    ours, theirs = one.field, other.field
    if _form(ours) != _form(theirs):
        return None
    lists = [set(field.one_of) for field in (ours, theirs) if field.one_of is not None]
    lows = [field.minimum for field in (ours, theirs) if field.minimum is not None]
    highs = [field.maximum for field in (ours, theirs) if field.maximum is not None]
    rules: dict[str, object] = {
        "required": ours.required or theirs.required,
        "one_of": tuple(sorted(set.intersection(*lists))) if lists else None,
        "minimum": max(lows, default=None),
        "maximum": min(highs, default=None),
    }
    return replace(one, field=ours.model_copy(update=rules))


def _form(field: ValueField) -> tuple[object, ...]:
    return field.words, field.epoch, field.zone, field.format, field.parts
