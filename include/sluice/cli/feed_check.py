"""`sluice feed check`: what validation makes of every record of a feed's topic."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from sluice.cli.terminal import completion
from sluice.cli.terminal.output import Output, OutputOption, err, out, print_data
from sluice.project.project import Project
from sluice.quality.arrivals import arrival_hint
from sluice.quality.census import Census
from sluice.quality.duplicates import MEANINGS
from sluice.quality.reasons import advice_of, in_short
from sluice.settings import settings


def check(
    name: Annotated[
        str, typer.Argument(help="A file in include/feeds, without its ending.", autocompletion=completion.feeds)
    ],
    output: OutputOption = Output.TABLE,
) -> None:
    """Recompute validation over the raw table: counts per outcome and reason, with the first record of each reason.

    Exit codes: 0 counted; 2 no such feed; 3 there is no raw table yet.
    """
    from sluice.spark.checks.feed_census import census_of_feed  # noqa: PLC0415  only this command pays for Spark's import

    project = Project.open_strict(settings())
    found = census_of_feed(project, name)
    if output.for_programs:
        print_data(output, [asdict(census) for census in found])
        return
    topic = project.catalog.topics[project.catalog.feeds[name].topic]
    for census in found:
        _show(census)
        if hint := arrival_hint(topic, census.outcomes, census.reasons):
            err.print(hint, style="yellow", markup=False, soft_wrap=True)


def _show_unexpected(census: Census) -> None:
    if not census.unexpected:
        return
    table = Table("expectation", "of", "severity", "records that break it")
    for each in census.unexpected:
        table.add_row(each.expectation, each.subject, each.severity, f"{each.records:,}")
    out.print(table)


def _show_duplicates(census: Census) -> None:
    found = census.duplicates
    if found is None:
        return
    fields = ", ".join(found.event_id)
    if not found.events:
        out.print(f"No event is there twice, by {fields}.")
        return
    out.print(
        f"{found.events:,} events have more than one record, by {fields}; all of their records stay good or late."
    )
    table = Table("duplicate", "records", "meaning", "what to do", "first at", "and at")
    for each in found.repeated:
        table.add_row(each.kind, f"{each.records:,}", *MEANINGS[each.kind], str(each.first), str(each.other))
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
        place = f"{sample.partition}/{sample.offset}"
        table.add_row(reason, f"{count:,}", meaning, advice, place, repr(sample.value))
    out.print(table)
    err.print("Their bytes stay in the raw table; today's rules were applied.", style="dim")
