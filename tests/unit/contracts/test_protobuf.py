"""Protobuf contracts: what protoc makes of a file, each rule between versions, and what must hold for all of them."""

from __future__ import annotations

import random
from typing import Any

import pytest
from google.protobuf.message import Message

from sluice.contracts.contract import read_version
from sluice.contracts.protobuf import ProtobufSchema
from sluice.contracts.protobuf_compatibility import unreadable
from sluice.contracts.protoc import BrokenProtobufError, read_protobuf
from tests.protobuf_oracle import classes, parsed

HEAD = (
    'syntax = "proto3";\nimport "google/protobuf/timestamp.proto";\nmessage Used { google.protobuf.Timestamp t = 1; }\n'
)


def of(fields: str, more: str = "") -> ProtobufSchema:
    return read_protobuf(f"{HEAD}message M {{ {fields} }}\n{more}")


def found(writer: str, reader: str, more: str = "", of_reader: str | None = None) -> list[str]:
    breaches = unreadable(of(writer, more), of(reader, more if of_reader is None else of_reader), "M")
    return [f"{each.field}: {each.message}" for each in breaches]


@pytest.mark.parametrize(
    ("writer", "reader", "said"),
    [
        ("int32 a = 1;", "int64 a = 1;", None),
        ("uint32 a = 1;", "int64 a = 1;", None),
        ("string a = 1;", "bytes a = 1;", None),
        ("int32 a = 1; int32 b = 2;", "int32 a = 1;", None),
        ("int32 a = 1;", "int32 a = 1; int32 b = 2;", None),
        ("repeated int32 a = 1;", "repeated int64 a = 1;", None),
        ("map<string, int32> a = 1;", "map<string, int64> a = 1;", None),
        ("oneof x { int32 a = 1; }", "oneof x { int32 a = 1; int32 b = 2; }", None),
        ("M a = 1; string s = 2;", "M a = 1; string s = 2;", None),
        ("int64 a = 1;", "int32 a = 1;", "a: may be int64, and int32 is wanted"),
        ("int32 a = 1;", "sint32 a = 1;", "a: may be int32, and sint32 is wanted"),
        ("bytes a = 1;", "string a = 1;", "a: may be bytes, and string is wanted"),
        ("int32 a = 1;", "int32 b = 1;", "b: has the number 1, which was that of a"),
        ("int32 a = 1;", "int32 a = 2;", "a: is written as number 1, and read from number 2"),
        ("int32 a = 1;", "repeated int32 a = 1;", "a: is one value, and a list is wanted"),
        ("repeated int32 a = 1;", "map<int32, int32> a = 1;", "a: is a list, and a map is wanted"),
        ("map<string, int64> a = 1;", "map<string, int32> a = 1;", "a{}.value: may be int64, and int32 is wanted"),
        ("optional int32 a = 1;", "int32 a = 1;", "a: may be absent, and would be read as its default"),
        ("int32 a = 1;", "optional int32 a = 1;", "a: is absent where it is its default"),
        ("int32 a = 1; M m = 2;", "int64 a = 1; repeated M m = 2;", "m: is one value, and a list is wanted"),
        (
            "google.protobuf.Timestamp a = 1;",
            "Used a = 1;",
            "a: is google.protobuf.Timestamp, and Used is wanted",
        ),
        (
            "optional int32 a = 1; optional int32 b = 2;",
            "oneof x { int32 a = 1; int32 b = 2; }",
            "b: may be there beside a, and only one of the group x is read",
        ),
    ],
)
def test_each_rule(writer: str, reader: str, said: str | None) -> None:
    if said is None:
        assert found(writer, reader) == []
    else:
        assert any(each.startswith(said) for each in found(writer, reader)), found(writer, reader)


def test_enums_keep_their_names_and_numbers() -> None:
    enum = "enum E { X = 0; Y = 1; }"
    assert found("E a = 1;", "E a = 1;", enum, "enum E { X = 0; Y = 1; Z = 2; }") == []
    message = "a: may be Y, which its enum does not have under that number"
    assert found("E a = 1;", "E a = 1;", enum, "enum E { X = 0; }") == [message]
    assert found("E a = 1;", "E a = 1;", enum, "enum E { X = 0; Z = 1; }") == [message]


def test_what_is_required_is_written() -> None:
    old = read_protobuf('syntax = "proto2"; message M { optional int32 a = 1; }')
    new = read_protobuf('syntax = "proto2"; message M { required int32 a = 1; required int32 b = 2; }')
    said = [f"{each.field}: {each.message}" for each in unreadable(old, new, "M")]
    assert said == ["a: may be absent, and is required", "b: is not written, and is required"]
    assert unreadable(new, old, "M") == []


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('syntax = "proto3";\nmessage M { int46 a = 1; }', 2, '"int46" is not defined'),
        ('syntax = "proto3";\n\nmessage M { int32 a = 1; int32 b = 1; }', 3, "Field number 1 has already been used"),
        ('syntax = "proto3";\nimport "other.proto";\nmessage M {}', 2, 'Import "other.proto" was not found'),
        ("message M { optional int32 a = 1; }", 1, "it does not say in which syntax"),
        (
            'syntax = "proto2"; message M { option message_set_wire_format = true; extensions 4 to max; }',
            1,
            "message sets",
        ),
        ("", 1, "it does not say in which syntax"),
    ],
)
def test_a_wrong_file_is_refused_at_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(BrokenProtobufError) as refused:
        read_protobuf(text)
    assert any(said in fault.message and fault.line == line for fault in refused.value.faults), refused.value.faults


def test_editions_options_and_comments_are_read() -> None:
    text = """\ufeff/* edition */ // of
    edition = "2023";
    import "google/protobuf/descriptor.proto";
    extend google.protobuf.FieldOptions { string owner = 50000; }
    message M {
      int32 a = 1 [features.field_presence = IMPLICIT, (owner) = "us"];
      int32 b = 2;
      M m = 3 [features.message_encoding = DELIMITED];
      int32 q = 4 [features.field_presence = LEGACY_REQUIRED];
      enum E { option allow_alias = true; X = 0; Y = 1; Z = 1; }
      repeated E e = 5;
    }
    service S { rpc Get(M) returns (M); }
    """
    root = read_protobuf(text).root(None)
    assert root is not None
    assert [(each.name, each.type, each.presence) for each in root.fields] == [
        ("a", "int32", "implicit"), ("b", "int32", "explicit"), ("m", "group", "explicit"), ("q", "int32", "required"),
        ("e", "enum", ""),
    ]  # fmt: skip
    assert read_protobuf(text).enums["M.E"] == {0: "X", 1: "Y"}


def test_all_faults_of_a_file_are_said_at_once() -> None:
    with pytest.raises(BrokenProtobufError) as refused:
        read_protobuf('syntax = "proto3";\nmessage M {\n  A a = 1;\n  B b = 2;\n}\n')
    assert [fault.line for fault in refused.value.faults] == [3, 4]


def test_only_what_bytes_mean_counts() -> None:
    first = read_version(1, "1.proto", HEAD + "message M { int32 b = 2; int32 a = 1; }")
    same = read_version(1, "1.proto", HEAD + "// a comment\nmessage M {\n int32 a = 1; reserved 7;\n int32 b = 2; }")
    assert first.digest == same.digest
    assert isinstance(first.schema, ProtobufSchema)
    assert isinstance(same.schema, ProtobufSchema)
    roots = [schema.root("M") for schema in (first.schema, same.schema)]
    assert roots[0] is not None
    assert roots[1] is not None
    assert first.schema.layout(roots[0]) == same.schema.layout(roots[1])
    for other in ("int32 a = 1; int64 b = 2;", "int32 a = 1; int32 c = 2;", "int32 a = 1; optional int32 b = 2;"):
        assert read_version(1, "1.proto", f"{HEAD}message M {{ {other} }}").digest != first.digest


def test_a_message_is_found_with_and_without_its_package() -> None:
    text = 'syntax = "proto3"; package a.b; message M { message N { int32 x = 1; } map<string, N> n = 1; }'
    schema = read_protobuf(text)
    roots = [schema.root(name) for name in (None, "M", "a.b.M", "b.M", "N", "M.N", "X", "")]
    assert [root and root.name for root in roots] == ["a.b.M"] * 4 + ["a.b.M.N"] * 2 + [None] * 2
    assert schema.own == ("a.b.M", "a.b.M.N")
    assert read_protobuf(text + "message O {}").root(None) is None


TYPES = (
    "int32",
    "int64",
    "uint32",
    "uint64",
    "sint32",
    "sint64",
    "bool",
    "string",
    "bytes",
    "float",
    "double",
    "E",
    "N",
)
LABELS = ("", "", "optional ", "repeated ")
Drawn = tuple[str, str, str, int]
"""Label, type, name and number of a field."""


def drawn(chance: random.Random) -> list[Drawn]:
    """Return a message's fields."""
    return [
        (chance.choice(LABELS), chance.choice([*TYPES, *TYPES[:4] * 3]), "abcd"[number - 1], number)
        for number in range(1, 5)
    ]


def changed(fields: list[Drawn], chance: random.Random) -> list[Drawn]:
    """Return another version of a message, in which a field or two is another one or gone."""
    found = list(fields)
    for _ in range(chance.randrange(1, 3)):
        place = chance.randrange(len(found))
        label, type_, name, number = found[place]
        match chance.randrange(6):
            case 0:
                label = chance.choice(LABELS)
            case 1 | 2:
                type_ = chance.choice([*TYPES, *TYPES[:4] * 3])
            case 3:
                name = "x"
            case 4:
                number = 9
            case _:
                label, type_, name, number = "", "int32", "y", 10
        if all(other[2:] != (name, number) and other[3] != number for n, other in enumerate(found) if n != place):
            found[place] = (label, type_, name, number)
    return found


def written(fields: list[Drawn]) -> str:
    kept = [each for n, each in enumerate(fields) if each[2] not in {other[2] for other in fields[:n]}]
    return " ".join(f"{label}{type_} {name} = {number};" for label, type_, name, number in kept)


def filled(message: Any, chance: random.Random) -> Any:  # noqa: ANN401 - of a class that is made of text
    numbers = {"INT32": [-1, 7, 2**31 - 1], "INT64": [-1, 2**40], "UINT32": [2**32 - 1], "UINT64": [2**64 - 1]}
    for field in message.DESCRIPTOR.fields:
        if chance.random() < 0.4:
            continue
        if field.message_type is not None:
            values: list[Any] = [type(message)().DESCRIPTOR and {}]
        elif field.enum_type is not None:
            values = [0, 1]
        else:
            kind = {5: "INT32", 3: "INT64", 13: "UINT32", 4: "UINT64", 17: "INT32", 18: "INT64"}.get(field.type, "")
            values = numbers.get(kind) or {9: ["x", ""], 12: [b"\xff"], 8: [True, False]}.get(field.type, [0.5])
        value = chance.choice(values)
        if field.is_repeated:
            getattr(message, field.name).extend([] if field.message_type is not None else [value])
        elif field.message_type is not None:
            getattr(message, field.name).SetInParent()
        else:
            setattr(message, field.name, value)
    return message


def seen(message: Message) -> dict[str, Any]:
    """Return what a reader sees: each field's value, and None where its absence shows."""
    found: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        absent = field.has_presence and not message.HasField(field.name)
        value = getattr(message, field.name)
        value = [*value] if field.is_repeated else value
        found[field.name] = None if absent else "there" if field.message_type is not None else value
    return found


def same(one: Any, other: Any) -> bool:  # noqa: ANN401 - of any field
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, str) and isinstance(other, bytes):
        return one.encode() == other
    return type(one) is type(other) and bool(one == other)


def test_without_a_breach_protobufs_own_library_reads_each_value_as_it_was_written() -> None:
    chance, sound = random.Random(1), 0
    rest = "enum E { X = 0; Y = 1; }\nmessage N { int32 x = 1; }\n"
    for _ in range(600):
        fields = drawn(chance)
        versions = written(fields), written(changed(fields, chance))
        texts = [f'syntax = "proto3";\nmessage M {{ {each} }}\n{rest}' for each in versions]
        if unreadable(*map(read_protobuf, texts), "M"):
            continue
        writer, reader = (classes(text)["M"] for text in texts)
        sound += versions[0] != versions[1]
        for _ in range(6):
            given = filled(writer(), chance)
            read = parsed(reader, given.SerializeToString())
            assert read is not None, texts
            before, after, nothing = seen(given), seen(read), seen(reader())
            for name in after:
                wanted = before.get(name, nothing[name])
                assert same(wanted, after[name]), (texts, given, name)
    assert sound > 60
