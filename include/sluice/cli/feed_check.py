"""`sluice feed check`: the outcome of validation for every record of a feed's topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from sluice.cli.terminal import completion
from sluice.cli.terminal.output import Output, OutputOption, emit, err, err_lines, out
from sluice.project.project import Project
from sluice.quality.arrivals import arrival_hint
from sluice.quality.census import Census
from sluice.quality.reasons import advice_of, in_short
from sluice.settings import settings
from sluice.specs.model.model import TopicSpec


def check(
    name: Annotated[
        str, typer.Argument(help="A feed: a file in include/feeds, without .yaml.", autocompletion=completion.feeds)
    ],
    output: OutputOption = Output.TABLE,
) -> None:
    """Validate the raw table again: counts by outcome and reason, with the first record of each reason.

    Exit codes: 0; 2 the feed does not exist; 3 there is no raw table yet.
    """
    from sluice.spark.checks.feed_census import census_of_feed  # noqa: PLC0415  only this command imports Spark

    project = Project.open_strict(settings())
    found = census_of_feed(project, name)
    topic = project.catalog.topics[project.catalog.feeds[name].topic]
    emit(output, [asdict(census) for census in found], lambda: _print_all(found, topic))


def _print_all(found: Sequence[Census], topic: TopicSpec) -> None:
    for census in found:
        _show(census)
        if hint := arrival_hint(topic, census.outcomes, census.reasons):
            err_lines.print(hint, style="yellow")


def _show_unexpected(census: Census) -> None:
    if not census.unexpected:
        return
    table = Table("expectation", "of", "severity", "violations")
    for each in census.unexpected:
        table.add_row(each.expectation, each.subject, each.severity, f"{each.records:,}")
    out.print(table)


def _show_duplicates(census: Census) -> None:
    found = census.duplicates
    if found is None:
        return
    fields = ", ".join(found.event_id)
    if not found.events:
        out.print(f"No event has a duplicate, by {fields}.")
        return
    out.print(f"{found.events:,} events have more than one record, by {fields}; all these records stay good or late.")
    table = Table("duplicate", "records", "meaning", "what to do", "first at", "and at")
    for each in found.repeated:
        table.add_row(
            each.kind, f"{each.records:,}", each.kind.meaning, each.kind.what_to_do, str(each.first), str(each.other)
        )
    out.print(table)


def _show(census: Census) -> None:
    outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in census.outcomes.items())
    out.print(f"{census.pipeline}: {census.records:,} records: {outcomes}; {census.undecodable:,} do not decode.")
    _show_unexpected(census)
    _show_duplicates(census)
    if not census.reasons:
        return
    first = {sample.reason: sample for sample in census.samples}
    table = Table("reason", "records", "meaning", "what to do", "first at", "value")
    for reason, count in census.reasons.items():
        sample, worst = first[reason], next(iter(census.details.get(reason, {})), None)
        meaning, advice = in_short(reason, census.details), advice_of(reason, worst)
        position = f"{sample.partition}/{sample.offset}"
        table.add_row(reason, f"{count:,}", meaning, advice, position, repr(sample.value))
    out.print(table)
    err.print("All bytes stay in the raw table. Today's rules were applied.", style="dim")
