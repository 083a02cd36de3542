"""`sluice contracts`: what producers promise to send, version by version."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer

from sluice.cli.terminal import completion
from sluice.cli.terminal.instants import SinceOption, UntilOption
from sluice.cli.terminal.output import Output, OutputOption, out, print_data
from sluice.cli.views.drift_view import tell_drift
from sluice.contracts.contract import AVRO, digest, written
from sluice.errors import SpecError
from sluice.project.project import Project
from sluice.quality.quarantine import QuarantineFilter
from sluice.settings import registry_login, settings
from sluice.specs.load import scan
from sluice.specs.reading.faults import SpecFaults
from sluice.specs.rules.contracts import FOLDER, PUBLISHED, contracts_hold, history_of
from sluice.specs.rules.rules import RULES

app = typer.Typer(help="Look at contracts; publish their versions.", no_args_is_help=True)


@app.command("list")
def list_(output: OutputOption = Output.TABLE) -> None:
    """Show the versions of every contract, and which are published.

    Exit codes: 0.
    """
    include = settings().home / "include"
    folder = include / FOLDER
    names = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    histories = {name: history_of(include, name) for name in names}
    if output.for_programs:
        print_data(
            output,
            [
                {"topic": topic, "version": v.number, "file": v.file, "published": v.number in history.published}
                for topic, history in histories.items()
                for v in history.versions
            ],
        )
        return
    for topic, history in histories.items():
        for version in history.versions:
            state = "published" if version.number in history.published else "draft"
            out.print(f"{topic}  {version.number}  {state}  {version.file}", markup=False, soft_wrap=True)
    if not names:
        out.print(f"There is no contract in include/{FOLDER}.", markup=False)


@app.command()
def drift(
    topic: Annotated[
        str, typer.Argument(help="A file in include/topics, without its ending.", autocompletion=completion.topics)
    ],
    since: SinceOption = None,
    until: UntilOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Find what producers send that nobody has declared, or otherwise than declared, and what they send no more.

    Exit codes: 0 nothing; 1 found some; 2 there is no such topic; 3 there is no raw table yet, or Spark cannot start.
    """
    from sluice.spark.checks.producer_drift import drift_of  # noqa: PLC0415 - only this pays for Spark's import

    asked = QuarantineFilter(since=since, until=until)
    found = drift_of(Project.open_strict(settings()), topic, asked)
    if output.for_programs:
        print_data(output, [asdict(departure) for departure in found])
    else:
        tell_drift(topic, found)
    if found:
        raise typer.Exit(1)


@app.command()
def fetch(
    topic: Annotated[
        str, typer.Argument(help="A file in include/topics, without its ending.", autocompletion=completion.topics)
    ],
    registry: Annotated[str, typer.Option("--registry", metavar="URL", help="Where the schema registry is.")],
    subject: Annotated[str, typer.Option("--subject", help="Omitted: <topic>-value.")] = "",
) -> None:
    """Write what a schema registry holds of a topic into its contract, and show the lines for the topic's spec.

    Versions that are there stay as they are. A login is read from the variable SLUICE_REGISTRY_LOGIN, as user:password.

    Exit codes: 0; 2 there is no such subject, or a schema cannot be kept; 4 the registry could not be asked.
    """
    from sluice.kafka.schema_registry import SchemaRegistry  # noqa: PLC0415 - only this asks one

    include = settings().home / "include"
    found = list(SchemaRegistry(registry, registry_login()).versions(subject or f"{topic}-value"))
    if len({each.ending for each in found}) != 1:
        raise SpecError("the versions are of no one schema language.", fix="begin another topic for the new one.")
    history = history_of(include, topic)
    if history.faults:
        raise SpecFaults(history.faults)
    known = {version.digest: version.number for version in history.versions}
    folder, ids = include / FOLDER / topic, dict[int, int]()
    for each in found:
        said = digest(json.loads(each.text))
        if said not in known:
            known[said] = max(known.values(), default=0) + 1
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"{known[said]}{each.ending}"
            file.write_text(json.dumps(json.loads(each.text), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            out.print(f"include/{FOLDER}/{topic}/{file.name} is version {each.version} of the registry.", markup=False)
        ids[each.id] = known[said]
    out.print(f"In include/topics/{topic}.yaml, if the producers frame their values:", markup=False)
    form = "avro" if found[0].ending == AVRO else "json"
    pairs = ", ".join(f"{key}: {number}" for key, number in sorted(ids.items()))
    out.write(f"value:\n  format: {form}\n  framing: confluent\n  schemas: {{{pairs}}}\n")


@app.command()
def publish(
    topic: Annotated[str, typer.Argument(help="A folder in include/schemas.", autocompletion=completion.contracts)],
) -> None:
    """Put on record what the newest version says: from now on it stays as it is, and a change is another version.

    Commit the file that this writes together with the version.

    Exit codes: 0; 2 there is no such contract, or `sluice check` finds something wrong with it.
    """
    include = settings().home / "include"
    history = history_of(include, topic)
    if not history.documents:
        fix = f"write include/{FOLDER}/{topic}/1.json or 1.avsc."
        raise SpecError(f"the topic {topic!r} has no contract in include/{FOLDER}.", fix=fix)
    place = f"include/{FOLDER}/{topic}"
    found = scan(include, rules=(*RULES, partial(contracts_hold, publishing=topic)))
    if faults := [fault for fault in found.faults if fault.file.startswith(f"{place}/") or fault.file == place]:
        raise SpecFaults(faults)
    newest = history.versions[-1]
    if newest.number in history.published:
        out.print(f"Version {newest.number} of {topic} is published already.", markup=False, soft_wrap=True)
        return
    (include / FOLDER / topic / PUBLISHED).write_text(written(history.versions), encoding="utf-8")
    out.print(
        f"Version {newest.number} of {topic} is published. Commit {place}/{PUBLISHED}.", markup=False, soft_wrap=True
    )
