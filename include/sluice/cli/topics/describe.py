"""`sluice topics describe`: topics as the cluster has them, with their use in the specs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated

import typer
from rich.table import Table

from sluice.cli.terminal import completion
from sluice.cli.terminal.output import Output, OutputOption, emit, err_lines, out_lines
from sluice.project.project import Project
from sluice.settings import settings
from sluice.topics.description import Description, described
from sluice.topics.names import unknown_topic
from sluice.topics.printable import printable_line


def describe(
    topic: Annotated[str, typer.Argument(help="Default: all declared topics.", autocompletion=completion.topics)] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the declared topics as the cluster has them, or one topic, declared or not, with its partitions.

    Exit codes: 0; 2 a spec is wrong, or the topic does not exist; 3 the stack is not up; 4 no
    broker answered.
    """
    project = Project.open_strict(settings())
    with project.kafka.administration() as administration:
        if topic and topic not in (names := administration.names()):
            raise unknown_topic(topic, names)
        wanted = [topic] if topic else sorted(project.catalog.kafka_topics())
        descriptions = described(project.catalog, administration, wanted)
    if topic:
        (one,) = descriptions
        emit(output, {**one.as_dict(), "partition_list": one.rows}, lambda: _print_one(one))
    else:
        data = {description.state.name: description.as_dict() for description in descriptions}
        emit(output, data, lambda: _print_many(descriptions, wanted))


def _print_one(description: Description) -> None:
    _print(description)
    table = Table(box=None, pad_edge=False)
    for column in ("partition", "leader", "replicas", "in sync", "first", "next"):
        table.add_column(column, justify="left" if column in {"replicas", "in sync"} else "right", no_wrap=True)
    for row in description.rows:
        style = "red" if row["leader"] is None else "yellow" if set(row["replicas"]) - set(row["in_sync"]) else None
        ids = (",".join(map(str, row[name])) for name in ("replicas", "in_sync"))
        offsets = ("?" if row[name] is None else str(row[name]) for name in ("first", "next"))
        leader = "none" if row["leader"] is None else str(row["leader"])
        table.add_row(str(row["partition"]), leader, *ids, *offsets, style=style)
    out_lines.print(table)


def _print_many(descriptions: Sequence[Description], declared: Collection[str]) -> None:
    for description in descriptions:
        _print(description)
    if missing := sorted(set(declared) - {description.state.name for description in descriptions}):
        err_lines.print(f"declared but missing: {', '.join(missing)} (run `sluice topics apply`)")


def _print(description: Description) -> None:
    state, usage, console = description.state, description.usage, out_lines
    counts = "/".join(sorted({str(len(replicas)) for replicas in state.replicas}))
    records = "records unknown" if description.records is None else f"{description.records:,} records"
    keyed = {True: ", keyed", False: ", not keyed", None: ""}[usage.keyed]
    console.print(printable_line(state.name), style="bold", end="")
    console.print(f"  {state.partitions} partitions, replication {counts}, {records}{keyed}")
    owner = f", owner {printable_line(usage.owner)}" if usage.owner else ""
    console.print(f"    declared in {usage.file}{owner}" if usage.file else "    not declared")
    for verb, names in (
        ("read by the pipelines", usage.read_by),
        ("written by the pipelines", usage.written_by),
        ("filled by the feeds", usage.fed_by),
    ):
        if names:
            console.print(f"    {verb} {', '.join(names)}")
    if state.configs:
        configs = " ".join(printable_line(f"{key}={value}") for key, value in sorted(state.configs.items()))
        console.print(f"    {configs}")
    if description.leaderless:
        console.print(f"    no leader: partitions {_numbers(description.leaderless)}", style="red")
    if description.under_replicated:
        console.print(f"    replicas out of sync: partitions {_numbers(description.under_replicated)}", style="yellow")


def _numbers(partitions: Sequence[int]) -> str:
    return ", ".join(map(str, partitions))
