"""`sluice new`: write first versions of a topic, a feed and a pipeline, which are valid and have tests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from sluice.cli.scaffold.examples import example_files, examples_folder
from sluice.cli.scaffold.feeds import FOLDER, feed_files
from sluice.cli.scaffold.pipelines import pipeline_files
from sluice.cli.scaffold.samples import SampleChoices, SampleFormat, TopicDraft, draft_of
from sluice.cli.scaffold.topics import GuessedField, late_arrival_warning, time_of, topic_text
from sluice.cli.terminal import completion
from sluice.cli.terminal.output import err_lines, out_lines
from sluice.cli.terminal.sample_file import (
    read_sample,
    read_sample_bytes,
    refuse_large,
    refuse_long_lines,
    sample_name,
)
from sluice.clock import SystemClock
from sluice.errors import RefusedError, SpecError
from sluice.feeds.lines import Fields, read_lines
from sluice.provisioning.importing.avro_file import MAGIC
from sluice.settings import settings
from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.load import scan
from sluice.specs.model.model import FieldType, TopicSpec
from sluice.specs.model.spec import NAME_PATTERN
from sluice.specs.reading.faults import SpecFaults
from sluice.specs.rules.contracts import FOLDER as SCHEMAS
from sluice.specs.rules.contracts import history_of
from sluice.specs.rules.feed_rules import misfits

app = typer.Typer(help="Write a first version of a topic, a feed or a pipeline.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(help="The name: lower-case letters, digits and underscores.")]
_WITHOUT_SAMPLE = {
    "id": GuessedField(FieldType.STRING, required=True),
    "at": GuessedField(FieldType.TIMESTAMP, required=True),
}


SampleOption = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        help="Records, one per line: JSON objects, columns under a header, lines of a log; or the schema of Avro or "
        "Protobuf (.avsc, .proto, an Avro file). - is stdin. Default: a spec with two fields.",
    ),
]
FormatOption = Annotated[
    SampleFormat | None, typer.Option("--format", help="What the sample is. Default: its content says it.")
]
PatternOption = Annotated[
    str, typer.Option(metavar="REGEX", help="The pattern of lines of text, with a group (?<name>...) for each field.")
]
MessageOption = Annotated[str, typer.Option(help="The message of a .proto file that has several.")]
DayFirstOption = Annotated[
    bool | None,
    typer.Option("--day-first/--month-first", help="What 01/02/2026 is, if no value of the sample says it."),
]


@app.command()
def topic(
    *,
    name: NameArgument,
    sample: SampleOption = "",
    form: FormatOption = None,
    pattern: PatternOption = "",
    message: MessageOption = "",
    day_first: DayFirstOption = None,
    event_time: Annotated[str, typer.Option(help="The field with the time at which a record happened.")] = "",
    arrival_time: Annotated[
        str, typer.Option(help="The field with the time at which it became known. Default: the broker's time.")
    ] = "",
    partitions: Annotated[int, typer.Option(min=1, help="The number of partitions.")] = 4,
    owner: Annotated[str, typer.Option(help="The owner, a person or a team.")] = "",
) -> None:
    """Write the spec of a topic, with the fields of a sample; of Avro and Protobuf the first version of its contract.

    Exit codes: 0; 2 the name or the sample is wrong; 5 a file exists.
    """
    _check(name)
    draft = _draft(name, sample, SampleChoices(form, pattern, message, day_first))
    at = time_of(draft.fields, event_time, wanted=draft.time)
    arrival = time_of(draft.fields, arrival_time, wanted=draft.time) if arrival_time else ""
    text = topic_text(
        name,
        draft.fields,
        at,
        arrival_time=arrival,
        partitions=partitions,
        owner=owner,
        left_out=draft.left_out,
        form=draft.form,
    )
    _write({f"include/topics/{name}.yaml": text, **_contract(name, draft)})
    _tell(draft, at, arrival)
    out_lines.print(f"\nNext: sluice check, then sluice new pipeline NAME --source {name}")


def _draft(name: str, sample: str, choices: SampleChoices) -> TopicDraft:
    if not sample:
        if choices != SampleChoices():
            raise SpecError("there is no sample to which the other options apply.", fix="pass --sample FILE.")
        return TopicDraft(_WITHOUT_SAMPLE)
    data, shown = read_sample_bytes(sample), sample_name(sample)
    if not data.startswith(MAGIC):  # of which only the beginning is read
        refuse_large(data, shown)
        refuse_long_lines(data.split(b"\n"), shown)
    return draft_of(name, data, shown, choices)


def _contract(name: str, draft: TopicDraft) -> Mapping[str, bytes]:
    """Return the first version of a topic's contract, if its sample is a schema.

    Raises:
        RefusedError: the topic has a contract.
    """
    if draft.schema is None:
        return {}
    folder = f"include/{SCHEMAS}/{name}"
    include = settings().home / "include"
    is_new = not (include / "topics" / f"{name}.yaml").exists()  # otherwise that is what is said
    if is_new and history_of(include, name).documents:
        raise RefusedError(
            f"{folder} has versions of a contract already.",
            fix="choose another name, or write the spec by hand: it names these versions.",
        )
    return {f"{folder}/{draft.schema.file}": draft.schema.content}


def _tell(draft: TopicDraft, at: str, arrival: str) -> None:
    for note in (*draft.said, *draft.left_out):
        out_lines.print(note)
    for name in dict.fromkeys(filter(None, (at, arrival))):
        if not draft.fields[name].required:
            out_lines.print(f"{name}: may be absent under the schema; a record without it is quarantined.")
    if draft.records is not None:
        late = late_arrival_warning(draft.records, draft.fields, at, arrival, SystemClock().now())
        if late:
            err_lines.print(late, style="yellow")


@app.command()
def pipeline(
    name: Annotated[str, typer.Argument(help="The name: lower-case letters, digits and underscores.")] = "",
    source: Annotated[
        str, typer.Option(help="The topic that it reads, in include/topics.", autocompletion=completion.topics)
    ] = "",
    owner: Annotated[str, typer.Option(help="The owner, a person or a team.")] = "unassigned",
    *,
    sql: Annotated[bool, typer.Option("--sql", help="Write the transform as a SELECT, and not in Python.")] = False,
    example: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="EXAMPLE",
            help="Copy an example instead, with its topics, feeds and tests.",
            autocompletion=completion.examples,
        ),
    ] = "",
) -> None:
    """Write a pipeline that counts the records of each hour: spec, transform, suite and test; or copy an example.

    Exit codes: 0; 2 the name is wrong, or the topic or the example does not exist; 5 one of the files exists.
    """
    if example:
        _copy(example, taken=bool(name or source or sql))
        return
    if not name or not source:
        raise SpecError(
            "a pipeline needs a name and a topic.", fix="`sluice new pipeline NAME --source TOPIC`, or --from EXAMPLE."
        )
    _check(name)
    _write(pipeline_files(name, _topic(source), owner=owner, sql=sql))
    out_lines.print(f"\nNext: sluice check, then pytest tests/pipelines/test_{name}.py")


def _copy(example: str, *, taken: bool) -> None:
    if taken:
        raise SpecError("an example keeps its names.", fix="leave out NAME, --source and --sql, and edit the copy.")
    _write(example_files(example, examples_folder()))
    out_lines.print(f"\nNext: sluice check, then pytest tests/pipelines/test_{example}.py")


@app.command()
def feed(
    *,
    name: NameArgument,
    topic: Annotated[
        str, typer.Option(help="The topic that it fills, in include/topics.", autocompletion=completion.topics)
    ],
    sample: Annotated[
        str, typer.Option("--from", metavar="FILE", help="The records, one JSON object per line; - is stdin.")
    ],
    key: Annotated[str, typer.Option(metavar="FIELD", help="The field whose value is the record's key.")] = "",
    arrival_time: Annotated[
        str,
        typer.Option(metavar="FIELD", help="The field that orders the records. Default: the topic's arrival time."),
    ] = "",
) -> None:
    """Write the spec of a feed that sends a file of records, and copy the file.

    Exit codes: 0; 2 the name or lines of the file are wrong (all are listed), or the topic does not exist; 5 one of the
    files exists.
    """
    _check(name)
    filled = _topic(topic)
    if wrong := list(misfits(filled, key or None, arrival_time or None)):
        raise SpecError(" ".join(message for _, message, _ in wrong), fix=" ".join(fix for _, _, fix in wrong))
    path, order = f"{FOLDER}/{name}.jsonl", arrival_time or None
    spec = FeedSpec(name=name, topic=topic, source="file", path=path, key=key or None, arrival_time=order)
    lines = read_sample(sample)
    if faults := read_lines(lines, sample, Fields.of(spec, filled.value))[1]:
        raise SpecFaults(faults)
    _write(feed_files(spec, lines))
    out_lines.print(f"\nNext: sluice check, then sluice feed send {name}")


def _topic(name: str) -> TopicSpec:
    catalog = scan(settings().home / "include").catalog
    if name not in catalog.topics:
        known = ", ".join(sorted(catalog.topics)) or "none"
        raise SpecError(
            f"there is no valid topic {name!r}; valid topics: {known}.", fix="`sluice new topic` writes one."
        )
    return catalog.topics[name]


def _check(name: str) -> None:
    if not re.fullmatch(NAME_PATTERN, name):
        raise SpecError(
            f"{name!r} is not a valid name: it needs a letter, then lower-case letters, digits and underscores.",
            fix="choose another name.",
        )


def _write(files: Mapping[str, str | bytes]) -> None:
    """Write all files or none."""
    home = settings().home
    if taken := [path for path in files if (home / path).exists()]:
        raise RefusedError(f"{', '.join(taken)} already exists.", fix="choose another name, or edit the file.")
    for path, data in files.items():
        file: Path = home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
        out_lines.print(f"wrote {path}")
