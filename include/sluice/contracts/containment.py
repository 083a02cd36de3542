"""Whether a JSON Schema takes every value that another one takes.

Sound, not complete: a value that is reported as taken is taken. A union on the reader's side has to take each shape of
the writer by one of its own shapes.
"""

from __future__ import annotations

from collections.abc import Iterator

from sluice.contracts.breach import Breach
from sluice.contracts.shapes import (
    ANYTHING,
    Array,
    Boolean,
    Null,
    Number,
    Object,
    Property,
    Schema,
    Shape,
    Text,
    Values,
    canonical,
    takes,
)

_NAMES: dict[type[Shape], str] = {
    Null: "null",
    Boolean: "a boolean",
    Number: "a number",
    Text: "a string",
    Array: "a list",
    Object: "an object",
}


def breaches(writer: Schema, reader: Schema, field: str = "") -> Iterator[Breach]:
    """Yield what a writer may write at the path of a field that a reader does not take."""
    for shape in writer:
        if isinstance(shape, Values):
            yield from _values(shape, reader, field)
            continue
        attempts = [list(_of_shape(shape, own, field)) for own in reader if type(own) is type(shape)]
        if not attempts:
            yield _not_taken(shape, reader, field)
        elif all(attempts):
            yield from min(attempts, key=len)


def _values(written: Values, reader: Schema, field: str) -> Iterator[Breach]:
    lost = [value for value in written.values if not takes(reader, value)]
    if lost:
        shown = ", ".join(canonical(value) for value in lost[:5]) + (", …" if len(lost) > 5 else "")  # noqa: PLR2004
        yield Breach(field, f"may be {shown}, which is not taken", "keep taking these values.")


def _not_taken(shape: Shape, reader: Schema, field: str) -> Breach:
    if any(isinstance(own, Values) for own in reader):
        return Breach(
            field, f"may be any of {_NAMES[type(shape)]}, and only listed values are taken", "take any value."
        )
    wanted = " or ".join(dict.fromkeys(_named(own) for own in reader))
    fix = "take both types, or write the new one under a name of its own."
    return Breach(field, f"may be {_named(shape)}, and only {wanted} is taken", fix)


def _named(shape: Shape) -> str:
    return "a whole number" if isinstance(shape, Number) and shape.whole else _NAMES.get(type(shape), "a listed value")


def _of_shape(writer: Shape, reader: Shape, field: str) -> Iterator[Breach]:
    match writer, reader:
        case (Number(), Number()):
            yield from _numbers(writer, reader, field)
        case (Text(), Text()):
            yield from _texts(writer, reader, field)
        case (Array(), Array()):
            yield from _lengths("entries", (writer.fewest, writer.most), (reader.fewest, reader.most), field)
            if reader.items is not None:
                yield from breaches(ANYTHING if writer.items is None else writer.items, reader.items, f"{field}[]")
        case (Object(), Object()):
            yield from _objects(writer, reader, field)
        case _:
            return


def _numbers(writer: Number, reader: Number, field: str) -> Iterator[Breach]:
    if reader.whole and not writer.whole:
        fix = "take fractions, or write whole numbers under a name of their own."
        yield Breach(field, "may have a fraction, and only whole numbers are taken", fix)
    if reader.low is not None and (writer.low is None or writer.low < reader.low):
        yield Breach(field, f"may be below {reader.low[0]:g}, the least that is taken", "take what was taken before.")
    if reader.high is not None and (
        writer.high is None
        or writer.high[0] > reader.high[0]
        or (writer.high[0] == reader.high[0] and reader.high[1] and not writer.high[1])
    ):
        yield Breach(field, f"may be above {reader.high[0]:g}, the most that is taken", "take what was taken before.")


def _texts(writer: Text, reader: Text, field: str) -> Iterator[Breach]:
    yield from _lengths("characters", (writer.shortest, writer.longest), (reader.shortest, reader.longest), field)
    for name, written, taken in (
        ("pattern", writer.pattern, reader.pattern),
        ("format", writer.format, reader.format),
    ):
        if taken is not None and taken != written:
            difference = f"has the {name} {written}" if written else f"has no {name}"
            yield Breach(field, f"{difference}, and only {taken} is taken", f"keep the {name}, or take any.")


def _lengths(what: str, written: tuple[int, int | None], taken: tuple[int, int | None], field: str) -> Iterator[Breach]:
    if written[0] < taken[0]:
        yield Breach(
            field, f"may have {written[0]} {what}, and {taken[0]} are the fewest that are taken", "take fewer."
        )
    if taken[1] is not None and (written[1] is None or written[1] > taken[1]):
        most = "any number of" if written[1] is None else f"{written[1]}"
        yield Breach(field, f"may have {most} {what}, and {taken[1]} are the most that are taken", "take more.")


def _objects(writer: Object, reader: Object, field: str) -> Iterator[Breach]:
    if writer.further and reader.further is False:
        yield Breach(field, "may have fields that are not declared, and none is taken", "take further properties.")
    for name, taken in reader.properties.items():
        yield from _property(writer, name, taken, f"{field}.{name}" if field else name)
    if reader.further is False:
        for name in sorted(writer.properties.keys() - reader.properties.keys()):
            path = f"{field}.{name}" if field else name
            yield Breach(path, "may be there, and no further field is taken", "keep it, or take further properties.")


def _property(writer: Object, name: str, taken: Property, path: str) -> Iterator[Breach]:
    written = writer.properties.get(name)
    if written is None:
        if taken.required:
            yield Breach(path, "is not declared, so it is missing, and is required", "make it optional.")
        if writer.further:
            fix = "name it otherwise, or let the version before allow no further properties."
            yield Breach(path, "is not declared where further fields may be anything", fix)
        return
    if taken.required and not written.required:
        yield Breach(path, "may be missing, and is required", "make it optional.")
    yield from breaches(written.schema, taken.schema, path)
