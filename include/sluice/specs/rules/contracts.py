"""Rules about contracts: each version can be read, was not changed since it was published, and goes with the others."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sluice.contracts.breach import Breach, Loc, UnreadableSchemaError
from sluice.contracts.contract import AVRO, JSON_SCHEMA, PROTOBUF, Version, between, read_version
from sluice.contracts.promise import promise_at, promises
from sluice.contracts.protobuf import ProtobufSchema
from sluice.specs.model.model import TopicSpec, ValueField
from sluice.specs.reading.document import MAX_BYTES, Document, read_document
from sluice.specs.reading.faults import Fault
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading
from sluice.specs.rules.protobuf_rules import unfit_fields

FOLDER, PUBLISHED = "schemas", "published.json"

_ENDINGS = (JSON_SCHEMA, AVRO, PROTOBUF)
_FILE = re.compile(rf"([1-9][0-9]{{0,4}})({'|'.join(map(re.escape, _ENDINGS))})")


@dataclass(frozen=True)
class ContractHistory:
    """The versions of a topic's contract, as they lie in its folder.

    Attributes:
        versions: the sound ones, oldest first.
        documents: every version's file, by its number.
        published: digest of each published version.
        faults: what is wrong with files.
    """

    versions: tuple[Version, ...] = ()
    documents: Mapping[int, Document] = field(default_factory=dict)
    published: Mapping[int, str] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()


def history_of(include: Path, topic: str) -> ContractHistory:
    """Read a topic's contract; one without versions if it has none."""
    folder, shown = include / FOLDER / topic, f"{include.name}/{FOLDER}/{topic}"
    versions: list[Version] = []
    documents: dict[int, Document] = {}
    faults: list[Fault] = []
    published: Mapping[int, str] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        match, file = _FILE.fullmatch(path.name), f"{shown}/{path.name}"
        if path.name == PUBLISHED:
            published = _published(path, file, faults)
        elif match is not None and int(match[1]) in documents:
            faults.append(Fault(file, 1, "", f"version {match[1]} is there twice.", "keep one of the two files."))
        elif match is not None:
            if match[2] == PROTOBUF:
                versions += _protobuf(path, file, int(match[1]), faults)
                documents[int(match[1])] = Document(file, None)
                continue
            document = documents[int(match[1])] = _read(path, file)
            faults.extend(document.faults)
            if document.data is not None:
                try:
                    versions.append(read_version(int(match[1]), file, document.data))
                except UnreadableSchemaError as error:
                    faults.append(document.fault(error.loc, error.message, error.fix))
        elif not path.name.startswith(".") and path.suffix != ".md":
            names = f"1{JSON_SCHEMA}, 1{AVRO} or 1{PROTOBUF}"
            faults.append(Fault(file, 1, "", "is no version of a contract.", f"name it {names}, or move it away."))
    versions.sort(key=lambda version: version.number)
    return ContractHistory(tuple(versions), documents, published, tuple(faults))


def contracts_hold(reading: Reading, *, publishing: str = "") -> Iterator[Finding]:
    """Every contract is sound, belongs to a topic, and its newest version goes with those before it.

    Args:
        reading: the specs.
        publishing: the topic of which all versions are about to be published.
    """
    folder = reading.include / FOLDER
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_dir():
            for fault in _faults(reading, path.name, publishing=path.name == publishing):
                yield Finding((Kind.TOPIC, path.name), fault)


def _faults(reading: Reading, topic: str, *, publishing: bool) -> Iterator[Fault]:
    history = history_of(reading.include, topic)
    yield from history.faults
    shown = f"{reading.include.name}/{FOLDER}/{topic}"
    if (Kind.TOPIC, topic) not in reading.documents:
        yield Fault(shown, 1, "", *reading.absent(Kind.TOPIC, topic))
    numbers = sorted(history.documents)
    for number in sorted(set(range(1, max(numbers, default=0))) - set(numbers)):
        yield Fault(shown, 1, "", f"there is no version {number}; records of it may be kept.", "restore its file.")
    yield from _unpublished(history, shown, publishing=publishing)
    spec = reading.catalog.topics.get(topic)
    if spec is None or not history.versions:
        return
    yield from _incompatible(history, spec)
    for version in history.versions:
        yield from _unpromised(version, history.documents[version.number], spec)


def _read(path: Path, file: str) -> Document:
    """Read a file as JSON, with the line of every value."""
    document = read_document(path, file)
    try:
        json.loads(path.read_bytes())
    except json.JSONDecodeError as error:
        return Document(file, None, faults=(Fault(file, error.lineno, "", f"is not JSON: {error.msg}."),))
    except (OSError, UnicodeDecodeError, RecursionError):  # said by the document
        return document
    return document


def _protobuf(path: Path, file: str, number: int, faults: list[Fault]) -> Iterator[Version]:
    """Yield the version of a `.proto` file; if it is none, add what is wrong with it to the faults."""
    from sluice.contracts.protoc import BrokenProtobufError  # noqa: PLC0415 - only Protobuf needs the compiler

    try:
        content = path.read_bytes()
        if len(content) > MAX_BYTES:
            faults.append(Fault(file, 1, "", f"is larger than {MAX_BYTES // 1024} KiB, which no schema needs."))
        else:
            yield read_version(number, file, content.decode())
    except OSError as error:
        faults.append(Fault(file, 1, "", f"cannot be read: {error.strerror or error}."))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        faults.append(Fault(file, line, "", f"holds a byte that is not UTF-8 (0x{content[error.start]:02x})."))
    except BrokenProtobufError as broken:
        faults.extend(Fault(file, fault.line, "", fault.message, fault.fix) for fault in broken.faults)


def _published(path: Path, file: str, faults: list[Fault]) -> Mapping[int, str]:
    document = _read(path, file)
    faults.extend(document.faults)
    return {int(key): str(value) for key, value in (document.data or {}).items() if key.isdecimal()}


def _unpublished(history: ContractHistory, shown: str, *, publishing: bool) -> Iterator[Fault]:
    """Versions stay what they were when they were published; only the newest may be a draft."""
    newest = max(history.documents, default=0)
    topic = shown.rpartition("/")[2]
    for version in history.versions:
        known = history.published.get(version.number)
        if known is None and version.number != newest and not publishing:
            message = f"a newer version is there, and version {version.number} is not published."
            fix = f"run `sluice contracts publish {topic}`, or remove it if nothing was written under it."
            yield Fault(version.file, 1, "", message, fix)
        elif known is not None and known != version.digest:
            message = f"version {version.number} is not what it was when it was published: there are records of it."
            yield Fault(version.file, 1, "", message, f"restore it, and write the change as version {newest + 1}.")
    for number in sorted(history.published.keys() - history.documents.keys()):
        yield Fault(f"{shown}/{PUBLISHED}", 1, str(number), "its file is gone.", "restore it.")


def _incompatible(history: ContractHistory, spec: TopicSpec) -> Iterator[Fault]:
    versions = history.versions
    newest = versions[-1]
    breaches: dict[tuple[bool, Breach], list[int]] = defaultdict(list)
    for writer, reader in spec.value.compatibility.pairs(len(versions)):
        older = min(writer, reader)
        for breach in between(versions[writer], versions[reader], spec.value.message):
            breaches[reader == len(versions) - 1, breach].append(versions[older].number)
    document = history.documents[newest.number]
    for (backward, breach), numbers in breaches.items():
        others = f"version{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
        whose = f"records of {others} under version {newest.number}"
        if not backward:
            whose = f"records of version {newest.number} under {others}"
        message = f"{breach.message}. So {whose} cannot be read ({spec.value.compatibility})."
        line = _line_of(newest, document, breach.field, spec)
        yield Fault(newest.file, line, breach.field, message, breach.fix)


def _line_of(version: Version, document: Document, field: str, spec: TopicSpec) -> int:
    if isinstance(version.schema, ProtobufSchema):
        root = version.schema.root(spec.value.message)
        return 1 if root is None else version.schema.lead(root, field).line
    return document.line_of(loc_of(document.data, field))


def _unpromised(version: Version, document: Document, spec: TopicSpec) -> Iterator[Fault]:
    """A version promises what the topic's spec reads: otherwise its records would be quarantined."""
    if isinstance(version.schema, ProtobufSchema):
        yield from unfit_fields(version.number, version.file, version.schema, spec)
        return
    if promises(version) is None:
        yield Fault(version.file, 1, "", "its records are not one kind of object.", "describe one object.")
        return
    for name, declared in spec.value.fields.items():
        if name == spec.value.heartbeat:
            continue
        keys = declared.keys(name)
        promise = promise_at(version, keys)
        line = document.line_of(loc_of(document.data, ".".join(keys)))
        if promise is None and declared.required:
            message = f"version {version.number} does not have it, and the spec of {spec.name} requires it."
            yield Fault(version.file, 1, name, message, "make it optional there, or declare it here.")
        elif promise is not None and not promise.types & _types_read(declared, spec):
            message = f"is {promise.words}, which does not read as the {declared.type} of the spec of {spec.name}."
            yield Fault(version.file, line, name, message, "make the two agree.")
        elif promise is not None and declared.required and not promise.always:
            message = f"may be absent or null, and the spec of {spec.name} requires it."
            yield Fault(version.file, line, name, message, "make it optional there, or required here.")


def _types_read(declared: ValueField, spec: TopicSpec) -> frozenset[str]:
    """Return the types that a field reads; in Avro a date is no text, and bytes are bytes."""
    return frozenset({declared.type.value}) if spec.value.format == "avro" else declared.types_read


def loc_of(data: object, field: str) -> Loc:
    """Return where a schema declares a field; of its nearest parent, where that is all that is found."""
    loc: Loc = ()
    for name in field.replace("[]", "").split(".") if field else ():
        step = _declared(data, name)
        if step is None:
            break
        loc = (*loc, *step[0])
        data = step[1]
    return loc


def _declared(node: object, name: str) -> tuple[Loc, object] | None:
    """Return the way to a field's declaration, through lists and unions."""
    if isinstance(node, list):
        ways = ((number, _declared(each, name)) for number, each in enumerate(node))
        return next((((number, *way[0]), way[1]) for number, way in ways if way is not None), None)
    if not isinstance(node, Mapping):
        return None
    properties, fields = node.get("properties"), node.get("fields")
    if isinstance(properties, Mapping) and name in properties:
        return ("properties", name), properties[name]
    for number, each in enumerate(fields if isinstance(fields, list) else ()):
        if isinstance(each, Mapping) and each.get("name") == name:
            return ("fields", number), each
    for key in ("items", "values", "type", "anyOf", "oneOf"):
        if (way := _declared(node.get(key), name)) is not None:
            return (key, *way[0]), way[1]
    return None
