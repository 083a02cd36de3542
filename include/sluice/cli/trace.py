"""`sluice trace`: what became of one record."""

from __future__ import annotations

from typing import Annotated

import typer

from sluice.cli.terminal import completion
from sluice.cli.terminal.output import Output, OutputOption, emit, err
from sluice.cli.views.trace_view import print_trace, trace_as_dict
from sluice.project.project import Project
from sluice.project.tracing.record import trace_record
from sluice.settings import settings
from sluice.tracing.address import RecordAddress
from sluice.tracing.trace import Trace

_ROWS = 20
"""The default number of rows that are shown of each pipeline."""


AddressArgument = Annotated[
    str,
    typer.Argument(
        metavar="TOPIC/PARTITION/OFFSET",
        help="Of the record, such as flights/0/1234.",
        autocompletion=completion.partitions,
    ),
]
RowsOption = Annotated[
    bool,
    typer.Option("--rows", help="Start Spark; ask all rules, and show the rows that differ without the record."),
]
TopicIdOption = Annotated[
    str,
    typer.Option(metavar="ID", help="Of several topics of this name: which one. Default: the newest with this offset."),
]

MaskedOption = Annotated[bool, typer.Option("--masked", help="Mask key, fields and rows: letters as x, digits as 9.")]


def trace(
    address: AddressArgument,
    *,
    rows: RowsOption = False,
    limit: Annotated[int, typer.Option(min=1, help="With --rows: the number of rows of each pipeline.")] = _ROWS,
    topic_id: TopicIdOption = "",
    masked: MaskedOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what became of one record: where it is stored, how it was judged, and which intervals are made of it.

    It reads logs, the raw table and the control database, and asks Kafka if that is up. Without --rows a record is
    judged by its times alone, and Spark is not started.

    Exit codes: 0, also of a record that is not read, lost or refused; 2 the address or a spec is wrong; 3 with --rows:
    the raw table does not hold the record, or Spark cannot start; 6 a log cannot be read.
    """
    project = Project.open_tolerant(settings())
    found = trace_record(project, RecordAddress.parse(address), topic_id)
    if rows:
        found = _with_rows(project, found, limit)
    emit(output, trace_as_dict(found, masked=masked), lambda: print_trace(found, masked=masked))
    if not rows and output is Output.TABLE and found.pipelines and found.raw.row is not None:
        err.print("--rows asks all rules of validation, and shows the rows that the record is in.", style="dim")


def _with_rows(project: Project, found: Trace, limit: int) -> Trace:
    from sluice.spark.backfill.record_rows import require_stored, with_rows  # noqa: PLC0415 - only this imports Spark
    from sluice.spark.session.batch_session import batch_session  # noqa: PLC0415 - the same

    require_stored(found)
    if not found.pipelines:
        return found
    with batch_session(project, "trace", found.pipelines[0].pipeline) as spark:
        return with_rows(project, spark, found, limit)
