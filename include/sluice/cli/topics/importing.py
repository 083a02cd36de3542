"""`sluice topics import`: write specs for existing topics that are not declared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sluice.cli.terminal.output import Output, OutputOption, emit, err_lines, out_lines
from sluice.errors import RefusedError, SpecError
from sluice.project.project import Project
from sluice.provisioning.importing.importer import Importer
from sluice.provisioning.importing.proposal import Proposal, Rejection, sampled_records
from sluice.settings import settings
from sluice.topics.printable import printable_line

_PATIENCE_SECONDS = 10
_MAX_NAMED = 10


def import_topics(
    topics: Annotated[list[str] | None, typer.Argument(metavar="[TOPIC]...", help="Topics of the cluster.")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="All topics without a spec, except Kafka's internal ones.")
    ] = False,
    into: Annotated[
        Path | None, typer.Option(file_okay=False, exists=True, help="The folder to write to. Default: include/topics.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Write specs for existing topics, so that the next plan at most bounds their producers' timestamps.

    No topic is changed. Partitions, replication, retention and configs are the cluster's. Fields, times and keys are
    proposed from a sample of records; none of their values is written or shown. No file is overwritten.

    Exit codes: 0 all are written; 2 a spec or an argument is wrong; 3 the stack is not up; 4 no broker answered; 5 some
    were refused, with the reason of each; the others are written.
    """
    project = Project.open_strict(settings())
    with (
        project.kafka.administration() as administration,
        project.kafka.reader(patience_seconds=_PATIENCE_SECONDS) as reader,
    ):
        importer = Importer(
            project.settings.home / "include",
            project.catalog,
            project.settings.deployment,
            project.deployment.replication,
            administration,
            reader,
            service=project.deployment.kafka.service,
        )
        proposed, rejected = importer.propose(_requested(importer, topics or [], every=every))
    folder = into or project.settings.home / "include" / "topics"
    folder.mkdir(exist_ok=True)
    written, present = write(proposed, folder)
    _emit(written, sorted([*rejected, *present], key=lambda each: each.topic), output)


def _requested(importer: Importer, topics: Sequence[str], *, every: bool) -> Sequence[str]:
    """Return the topics to import.

    Raises:
        SpecError: neither names nor --all were given, or both.
    """
    if every and not topics:
        return importer.undeclared()
    if topics and not every:
        return topics
    if topics:
        raise SpecError("--all cannot be combined with topics.", fix="use one or the other.")
    there = importer.undeclared()
    more = f" and {len(there) - _MAX_NAMED} more" if len(there) > _MAX_NAMED else ""
    undeclared = f"{', '.join(map(printable_line, there[:_MAX_NAMED]))}{more}" if there else "none"
    raise SpecError(f"No topic is given. Topics without a spec: {undeclared}.", fix="pass some of them, or --all.")


def write(proposed: Sequence[Proposal], folder: Path) -> tuple[list[tuple[Proposal, Path]], list[Rejection]]:
    """Write specs, and return the written ones with their files, and a rejection for each file that exists."""
    written: list[tuple[Proposal, Path]] = []
    present: list[Rejection] = []
    for proposal in proposed:
        path = folder / f"{proposal.topic}.yaml"
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(proposal.text)
        except FileExistsError:
            fix = "move it away, or choose another folder with --into."
            present.append(Rejection(proposal.topic, f"{path} exists, and no file is overwritten", fix))
        else:
            written.append((proposal, path))
    return written, present


def _emit(written: Sequence[tuple[Proposal, Path]], rejected: Sequence[Rejection], output: Output) -> None:
    files = [
        {"topic": proposal.topic, "file": str(path), "sampled": proposal.sampled, "keyed": proposal.keyed}
        for proposal, path in written
    ]
    data = {"written": files, "refused": [asdict(rejection) for rejection in rejected]}
    emit(output, data, lambda: _print_written(written, rejected))
    if rejected:
        raise typer.Exit(RefusedError.exit_code)


def _print_written(written: Sequence[tuple[Proposal, Path]], rejected: Sequence[Rejection]) -> None:
    for proposal, path in written:
        out_lines.print(f"{proposal.topic}: {path}, from {sampled_records(proposal.sampled)}", style="green")
    for rejection in rejected:
        err_lines.print(
            f"{printable_line(rejection.topic)}: refused, {rejection.why}. Fix: {rejection.fix}", style="red"
        )
    if written:
        out_lines.print("Review the proposals, then run `sluice check` and `sluice topics plan`.")
    elif not rejected:
        out_lines.print("Every topic has a spec; nothing to import.")
