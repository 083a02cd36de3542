"""`sluice feed`: send a feed to its topic or follow it, show what was sent, and check how records are validated."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import date, datetime, timedelta
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table

from sluice.cli.terminal.arguments import FeedArgument
from sluice.cli.terminal.interruption import stopping_on_signals
from sluice.cli.terminal.output import Output, OutputOption, emit, err, err_lines, out, out_lines
from sluice.cli.views.follow_view import FollowPrinter, follow_summary, show_follow_manifest
from sluice.clock import SystemClock
from sluice.errors import SpecError
from sluice.feeds.following.ending import FollowUntil
from sluice.feeds.following.follow import FeedFollower
from sluice.feeds.following.manifest import FollowManifest, FollowManifestStore
from sluice.feeds.manifest import Manifest, ManifestStore
from sluice.feeds.pace import Pace
from sluice.feeds.publish import Feed, Sending, SendProgress
from sluice.feeds.sources import live_refusal
from sluice.project.project import Project
from sluice.quality.arrivals import arrival_hint
from sluice.quality.census import Census
from sluice.quality.reasons import advice_of, in_short
from sluice.settings import settings
from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.model.access import Role
from sluice.specs.model.duration import parse_duration
from sluice.specs.model.model import TopicSpec

app = typer.Typer(help="Send reproducible data to a topic, or follow a live source.", no_args_is_help=True)

_DAY = ["%Y-%m-%d"]
_ZONE = "local for the flights, UTC for files and simulations"
_INTERRUPTED = 130
_SECONDS_BETWEEN_LINES = 5.0


@app.command()
def send(  # noqa: PLR0917  typer turns each into an option
    name: FeedArgument,
    first: Annotated[
        datetime | None, typer.Option("--from", formats=_DAY, metavar="YYYY-MM-DD", help=f"The first day: {_ZONE}.")
    ] = None,
    last: Annotated[
        datetime | None,
        typer.Option("--to", formats=_DAY, metavar="YYYY-MM-DD", help=f"The last day, included: {_ZONE}."),
    ] = None,
    rate: Annotated[float | None, typer.Option(help="At most this many records per second.")] = None,
    speed: Annotated[float | None, typer.Option(help="Replay speed: seconds of the feed's time per second.")] = None,
    heartbeat: Annotated[bool, typer.Option(help="Close the last intervals with a heartbeat at the end.")] = True,
    out_of_order: Annotated[
        bool, typer.Option("--out-of-order", help="Send the range even if its records are late.")
    ] = False,
) -> None:
    """Send the records of a range of days that the topic does not have yet.

    You can interrupt it: the same command continues where it stopped, and sends nothing twice.

    Exit codes: 0 the whole range is in the topic; 2 an argument is wrong; 3 the stack is not up; 4 no broker answered;
    5 the range is too late, or another process is sending; 130 interrupted.
    """
    project = Project.open_strict(settings())
    pace = Pace(rate, speed)
    try:
        with open_project_feed(project, name) as feed, reporting(name) as report:
            if hint := feed.too_late(_day(first), _day(last)):
                err_lines.print(hint, soft_wrap=True)
            done = feed.send(
                _day(first), _day(last), pace=pace, heartbeat=heartbeat, out_of_order=out_of_order, report=report
            )
    except KeyboardInterrupt:
        err_lines.print("\nInterrupted. The same command continues from here and sends nothing twice.")
        raise typer.Exit(_INTERRUPTED) from None
    out_lines.print(summary(done))


@app.command()
def follow(
    name: FeedArgument,
    duration: Annotated[
        str, typer.Option("--for", metavar="DURATION", help="End after so long, such as '2 hours'.")
    ] = "",
    until_idle: Annotated[
        str, typer.Option("--until-idle", metavar="DURATION", help="End when no event came for so long.")
    ] = "",
    from_now: Annotated[
        bool, typer.Option("--from-now", help="Give up what happened meanwhile; the manifest has a gap.")
    ] = False,
) -> None:
    """Send the events of a live source as they come, until you interrupt it (Ctrl-C, SIGTERM).

    The same command goes on where it stopped, also after a kill: events that come again are not sent again.

    Exit codes: 0 it ended, and all that came is in the topic; 2 an argument is wrong, or the source refuses the
    request; 3 the stack is not up, or credentials are missing or refused; 4 no broker answered; 5 another process
    follows, or the source cannot be read.
    """
    project = Project.open_strict(settings())
    until = FollowUntil(_seconds("--for", duration), _seconds("--until-idle", until_idle))
    spec, printer = _spec(project, name), FollowPrinter(SystemClock())
    with (
        open_project_follower(project, spec, printer.tell) as follower,
        stopping_on_signals() as stopping,
    ):
        reached = follower.follow(replace(until, stopping=stopping), from_now=from_now, report=printer.report)
    out_lines.print(follow_summary(reached))


@app.command()
def manifest(name: FeedArgument, output: OutputOption = Output.TABLE) -> None:
    """Show what was sent of a feed, by range, day and key; of one that is followed its cursor, counts and gaps.

    Exit codes: 0; 2 the feed does not exist; 6 the manifest cannot be read.
    """
    project = Project.open_strict(settings())
    spec, folder = _spec(project, name), project.folder.feeds / name
    sent = ManifestStore(folder).load() if spec.live is None else FollowManifestStore(folder).load()
    data = sent.model_dump(mode="json") if sent else None
    emit(output, data, lambda: _show_manifest(spec, sent))


def _show_manifest(spec: FeedSpec, sent: Manifest | FollowManifest | None) -> None:
    match sent:
        case Manifest():
            _show(sent)
        case FollowManifest():
            show_follow_manifest(sent)
        case None:
            out_lines.print(f"Nothing of {spec.name} was sent.")


@app.command()
def check(name: FeedArgument, output: OutputOption = Output.TABLE) -> None:
    """Validate the raw table again: counts by outcome and reason, with the first record of each reason.

    Exit codes: 0; 2 the feed does not exist; 3 there is no raw table yet.
    """
    from sluice.spark.checks.feed_census import census_of_feed  # noqa: PLC0415  only this command imports Spark

    project = Project.open_strict(settings())
    censuses = census_of_feed(project, name)
    topic = project.catalog.topics[project.catalog.feeds[name].topic]
    emit(output, [asdict(census) for census in censuses], lambda: _print_all(censuses, topic))


def _print_all(censuses: Sequence[Census], topic: TopicSpec) -> None:
    for census in censuses:
        _show_census(census)
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
    duplicates = census.duplicates
    if duplicates is None:
        return
    fields = ", ".join(duplicates.event_id)
    if not duplicates.events:
        out.print(f"No event has a duplicate, by {fields}.")
        return
    events = f"{duplicates.events:,} events have more than one record, by {fields}"
    out.print(f"{events}; all these records stay good or late.")
    table = Table("duplicate", "records", "meaning", "what to do", "first at", "and at")
    for each in duplicates.repeated:
        table.add_row(
            each.kind, f"{each.records:,}", each.kind.meaning, each.kind.what_to_do, str(each.first), str(each.other)
        )
    out.print(table)


def _show_census(census: Census) -> None:
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


@contextmanager
def open_project_feed(project: Project, name: str) -> Iterator[Feed]:
    """Connect a feed of the project to its topic.

    Raises:
        SpecError: the feed does not exist.
        NotReadyError: the stack is not up.
        UnreachableError: no broker answered.
    """
    from sluice.kafka.feed import open_feed  # noqa: PLC0415 - other commands and completion do not import the client

    spec = _spec(project, name)
    if spec.live is not None:
        raise live_refusal(spec)  # before a broker is looked for
    with open_feed(
        spec,
        project.catalog.topics[spec.topic],
        project.catalog.pipelines.values(),
        bootstrap=project.kafka.bootstrap(),
        client=project.kafka.client(Role.FEED),
        folder=project.folder.feeds / name,
        include=project.settings.home / "include",
    ) as feed:
        yield feed


@contextmanager
def open_project_follower(project: Project, spec: FeedSpec, tell: Callable[[str], None]) -> Iterator[FeedFollower]:
    """Connect a live feed of the project to its topic.

    Raises:
        SpecError: the feed has no live source.
        NotReadyError: the stack is not up, or a variable that the spec names is not set.
        UnreachableError: no broker answered.
    """
    from sluice.feeds.connectors.live_sources import live_of  # noqa: PLC0415 - before the broker is looked for
    from sluice.kafka.feed import open_follower  # noqa: PLC0415 - other commands and completion do not import the client

    live_of(spec)
    with open_follower(
        spec,
        project.catalog.topics[spec.topic],
        bootstrap=project.kafka.bootstrap(),
        client=project.kafka.client(Role.FEED),
        folder=project.folder.feeds / spec.name,
        home=project.settings.home,
        tell=tell,
    ) as follower:
        yield follower


@contextmanager
def reporting(name: str) -> Iterator[Callable[[SendProgress], None]]:
    """Yield a function that shows progress on stderr: a bar on a terminal, else a line every few seconds."""
    if not err.is_terminal:
        yield _LinePrinter(name)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}"))
    with Bar(*columns, console=err) as bar:
        task = bar.add_task(name, total=None, pace="")
        yield lambda p: bar.update(task, completed=p.sent, total=p.total, pace=pace_text(p))


class _LinePrinter:
    """Prints a line every few seconds, and always the last one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._clock = SystemClock()
        self._printed = -math.inf

    def __call__(self, progress: SendProgress) -> None:
        now = self._clock.monotonic()
        if progress.sent == progress.total or now - self._printed >= _SECONDS_BETWEEN_LINES:
            self._printed = now
            err_lines.print(f"{self._name}: {progress.sent:,} of {progress.total:,}, {pace_text(progress)}")


def pace_text(progress: SendProgress) -> str:
    """Return rate and remaining time, such as `2,300/s, 0:01:10 left`."""
    left = progress.seconds_left
    return f"{progress.rate:,.0f}/s" + ("" if left is None else f", {timedelta(seconds=round(left))} left")


def summary(done: Sending) -> str:
    """Return the result of a run in one sentence."""
    parts = [f"Sent {done.sent:,} records"]
    if done.recovered:
        parts.append(f"found {done.recovered:,} that an interrupted run had already sent")
    if done.heartbeat:
        parts.append(f"and a heartbeat at {done.heartbeat:%Y-%m-%d %H:%M} UTC")
    return f"{', '.join(parts)}; {done.manifest.topic} now has {done.manifest.records:,} of this feed."


def _show(sent: Manifest) -> None:
    ranges = Table("from", "to", "records", "heartbeat (UTC)", "state", box=None, title=f"{sent.feed}: ranges")
    for entry in sent.ranges:
        beat = f"{entry.heartbeat:%Y-%m-%d %H:%M}" if entry.heartbeat else "-"
        state = "complete" if entry.finished else "not finished"
        ranges.add_row(str(entry.first), str(entry.last), f"{entry.records:,}", beat, state)
    out.print(ranges)
    for title, counts in (("day", sent.days()), ("key", sent.keys())):
        table = Table(title, "records", box=None)
        for label, count in sorted(counts.items()):
            table.add_row(str(label), f"{count:,}")
        out.print(table)
    out_lines.print(f"{sent.records:,} records in topic {sent.topic} ({sent.topic_id})")


def _spec(project: Project, name: str) -> FeedSpec:
    feeds = project.catalog.feeds
    if name not in feeds:
        raise SpecError(f"There is no feed {name!r}.", fix=f"include/feeds has {', '.join(sorted(feeds)) or 'none'}.")
    return feeds[name]


def _seconds(option: str, text: str) -> float | None:
    if not text:
        return None
    try:
        return parse_duration(text).total_seconds()
    except ValueError as error:
        raise SpecError(f"{option}: {error}.", fix="write it as a spec does.") from error


def _day(moment: datetime | None) -> date | None:
    return moment.date() if moment else None
