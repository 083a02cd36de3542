"""`sluice contracts`: the versions of the schemas that producers agree to send."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Column, Table

from sluice.cli.terminal import completion
from sluice.cli.terminal.arguments import TopicArgument
from sluice.cli.terminal.instants import SinceOption, UntilOption
from sluice.cli.terminal.output import Output, OutputOption, emit, out, out_lines
from sluice.contracts.contract import AVRO, JSON_SCHEMA, PROTOBUF, digest, read_version, written
from sluice.contracts.protobuf import ProtobufSchema
from sluice.errors import SpecError
from sluice.project.project import Project
from sluice.quality.drift import Drift, FieldDrift
from sluice.quality.quarantine import QuarantineFilter
from sluice.settings import registry_login, settings
from sluice.specs.load import scan
from sluice.specs.reading.faults import SpecFaults
from sluice.specs.rules.contracts import FOLDER, PUBLISHED, contracts_hold, history_of
from sluice.specs.rules.rules import RULES
from sluice.topics.printable import printable_line

app = typer.Typer(help="List, fetch and publish contracts; find producer drift.", no_args_is_help=True)


@app.command("list")
def list_(output: OutputOption = Output.TABLE) -> None:
    """List the versions of every contract, and which are published.

    Exit codes: 0.
    """
    include = settings().home / "include"
    folder = include / FOLDER
    names = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    histories = {name: history_of(include, name) for name in names}
    data = [
        {"topic": topic, "version": v.number, "file": v.file, "published": v.number in history.published}
        for topic, history in histories.items()
        for v in history.versions
    ]

    def print_versions() -> None:
        for each in data:
            state = "published" if each["published"] else "draft"
            out_lines.print(f"{each['topic']}  {each['version']}  {state}  {each['file']}")
        if not histories:
            out_lines.print(f"include/{FOLDER} has no contract.")

    emit(output, data, print_versions)


@app.command()
def drift(
    topic: TopicArgument,
    since: SinceOption = None,
    until: UntilOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Find fields that producers send undeclared, or not as declared, or no longer send.

    Exit codes: 0 no drift; 1 drift; 2 the topic does not exist; 3 there is no raw table yet, or Spark cannot start.
    """
    from sluice.spark.checks.producer_drift import drift_of  # noqa: PLC0415 - only this imports Spark

    selection = QuarantineFilter(since=since, until=until)
    drifts = drift_of(Project.open_strict(settings()), topic, selection)
    emit(output, [asdict(departure) for departure in drifts], lambda: _print_drift(topic, drifts))
    if drifts:
        raise typer.Exit(1)


def _print_drift(topic: str, drifts: Sequence[FieldDrift]) -> None:
    """Print departures as a table, and the meaning of each kind."""
    if not drifts:
        out_lines.print(f"The records of {topic} are as declared.")
        return
    right = [Column(name, justify="right") for name in ("records", "first offset", "last offset")]
    table = Table("drift", "field", "type", "partition", *right, "hint", box=None)
    for each in drifts:
        number = each.partition.rpartition("/")[2]
        counts = (f"{each.records:,}", f"{each.first:,}", f"{each.last:,}")
        table.add_row(each.drift, escape(printable_line(each.field)), each.kind, number, *counts, each.hint)
    out.print(table)
    for drift in (kind for kind in Drift if any(each.drift is kind for each in drifts)):
        out_lines.print(f"{drift}: {drift.meaning}: {drift.what_to_do}.")


@app.command()
def fetch(
    topic: TopicArgument,
    registry: Annotated[str, typer.Option("--registry", metavar="URL", help="The address of the schema registry.")],
    subject: Annotated[str, typer.Option("--subject", help="Default: <topic>-value.")] = "",
) -> None:
    """Copy a topic's schemas from a schema registry into its contract, and show the lines for the topic's spec.

    Existing versions do not change. The secret SLUICE_REGISTRY_LOGIN is a login, as user:password.

    Exit codes: 0; 2 the subject does not exist, or a schema is not supported; 4 the registry did not answer.
    """
    from sluice.kafka.schema_registry import SchemaRegistry  # noqa: PLC0415 - only this imports the client

    include = settings().home / "include"
    fetched = list(SchemaRegistry(registry, registry_login()).versions(subject or f"{topic}-value"))
    if len({each.ending for each in fetched}) != 1:
        raise SpecError("the versions use more than one schema language.", fix="create another topic for the new one.")
    history = history_of(include, topic)
    if history.faults:
        raise SpecFaults(history.faults)
    known = {version.digest: version.number for version in history.versions}
    folder, ids = include / FOLDER / topic, dict[int, int]()
    for each in fetched:
        schema = _meaning(each.text, each.ending)
        if schema not in known:
            known[schema] = max(known.values(), default=0) + 1
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"{known[schema]}{each.ending}"
            file.write_text(_laid_out(each.text, each.ending), encoding="utf-8")
            out_lines.print(f"include/{FOLDER}/{topic}/{file.name} is version {each.version} of the registry.")
        ids[each.id] = known[schema]
    out_lines.print(f"For include/topics/{topic}.yaml, if the producers frame their values:")
    form = {AVRO: "avro", JSON_SCHEMA: "json", PROTOBUF: "protobuf"}[fetched[0].ending]
    first = f"  message: {_first_message(fetched[-1].text)}\n" if fetched[-1].ending == PROTOBUF else ""
    pairs = ", ".join(f"{key}: {number}" for key, number in sorted(ids.items()))
    out.write(f"value:\n  format: {form}\n{first}  framing: confluent\n  schemas: {{{pairs}}}\n")


def _meaning(text: str, ending: str) -> str:
    """Return the digest of a registered schema.

    Raises:
        SpecError: it is no Protobuf that a contract can be.
    """
    if ending != PROTOBUF:
        return digest(json.loads(text))
    from sluice.contracts.protoc import BrokenProtobufError  # noqa: PLC0415 - only Protobuf needs the compiler

    try:
        return read_version(0, ending, text).digest
    except BrokenProtobufError as broken:
        fixes = dict.fromkeys(fault.fix for fault in broken.faults if fault.fix)
        raise SpecError(f"a schema of the registry {broken}", fix=" ".join(fixes)) from None


def _laid_out(text: str, ending: str) -> str:
    if ending == PROTOBUF:
        return text if text.endswith("\n") else f"{text}\n"
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


def _first_message(text: str) -> str:
    schema = read_version(0, PROTOBUF, text).schema
    return next(iter(schema.own), "") if isinstance(schema, ProtobufSchema) else ""


@app.command()
def publish(
    topic: Annotated[
        str, typer.Argument(help="A topic: a folder in include/schemas.", autocompletion=completion.contracts)
    ],
) -> None:
    """Publish the newest version: it can no longer change, and a change needs a new version.

    Commit the file that this writes together with the version.

    Exit codes: 0; 2 the contract does not exist, or `sluice check` finds a fault in it.
    """
    include = settings().home / "include"
    history = history_of(include, topic)
    if not history.documents:
        fix = f"write include/{FOLDER}/{topic}/1.json, 1.avsc or 1.proto."
        raise SpecError(f"the topic {topic!r} has no contract in include/{FOLDER}.", fix=fix)
    path = f"include/{FOLDER}/{topic}"
    scanned = scan(include, rules=(*RULES, partial(contracts_hold, publishing=topic)))
    if faults := [fault for fault in scanned.faults if fault.file.startswith(f"{path}/") or fault.file == path]:
        raise SpecFaults(faults)
    newest = history.versions[-1]
    if newest.number in history.published:
        out_lines.print(f"Version {newest.number} of {topic} is already published.")
        return
    (include / FOLDER / topic / PUBLISHED).write_text(written(history.versions), encoding="utf-8")
    out_lines.print(f"Version {newest.number} of {topic} is published. Commit {path}/{PUBLISHED}.")
