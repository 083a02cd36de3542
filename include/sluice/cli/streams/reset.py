"""`sluice streams reset`: move a stopped stream to another position, after a confirmation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC
from typing import Annotated, Any

import typer
from rich.table import Table

from sluice.cli.terminal import completion
from sluice.cli.terminal.arguments import UnitArgument, WhyOption, YesOption
from sluice.cli.terminal.output import Output, OutputOption, emit, out, out_lines
from sluice.cli.terminal.user import confirm, requester
from sluice.clock import SystemClock
from sluice.errors import SpecError
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.model.access import Role
from sluice.specs.model.start import in_words, parse_moment
from sluice.streams.life.resetting import Resetting, Target, refuse_living
from sluice.streams.position.epochs import Epoch
from sluice.streams.position.reset import StreamReset

_FORM = "earliest, latest, a time such as 2013-01-07T12:00:00Z, or next offsets such as flights/0=1200,flights/1=900"


def reset(  # noqa: PLR0917 - typer's options are named on the command line
    unit: UnitArgument,
    to: Annotated[str, typer.Option("--to", help=f"The position: {_FORM}; or offsets as the JSON of Kafka's tools.")],
    why: WhyOption,
    stream: Annotated[
        list[str] | None, typer.Option(help="Only this stream. Repeatable.", autocompletion=completion.streams)
    ] = None,
    yes: YesOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Move a stopped unit to another position, in a new epoch. Shows what it repeats and skips, and asks to confirm.

    Closed intervals are not written again, and no checkpoint is deleted. Streams of raw tables do not move.

    Exit codes: 0 the position is recorded; 2 an argument is wrong, or there is no terminal for the confirmation; 4 the
    broker, the launcher or the control database did not answer; 5 refused, nothing was changed.
    """
    target = parse_target(to)
    project = Project.open_tolerant(settings())
    declared = project.catalog.unit(unit)
    refuse_living(project.streams.life(unit).record_end())
    with project.kafka.administration(Role.WATCHER) as cluster:
        resetting = Resetting(declared, project.catalog, project.streams.epochs, cluster, SystemClock())
        planned = resetting.plan(target, tuple(stream or ()))
    if not output.for_programs:
        show_resets(planned)
    recorded: list[Epoch] = []
    message = ""
    try:
        if not all(one.done for one in planned):
            confirm(unit, yes=yes)
            refuse_living(project.streams.life(unit).record_end())  # the user may have read for an hour
        epochs = (resetting.record(one, target, by=requester(), why=why) for one in planned)
        recorded.extend(epoch for epoch in epochs if epoch is not None)
        done = f"{len(recorded)} of {len(planned)} streams begin a new epoch" if recorded else "Nothing to do"
        message = f"{done}. Start the unit: sluice streams start {unit}"
    finally:
        emit(output, _as_json(unit, target, planned, recorded), lambda: out_lines.print(message) if message else None)


def parse_target(text: str) -> Target:
    """Parse a position. A time without a zone is in UTC.

    Raises:
        SpecError: the text has none of the forms.
    """
    try:
        if text.lstrip().startswith("{"):
            return _offsets({f"{t}/{p}": o for t, offsets in json.loads(text).items() for p, o in offsets.items()})
        if "=" in text:
            return _offsets(dict(part.strip().split("=", 1) for part in text.split(",")))
        return parse_moment(text, zone=UTC)
    except (ValueError, AttributeError) as error:
        raise SpecError(f"--to {text!r} is not a position: {error}.", fix=f"write {_FORM}.") from error


def _offsets(named: Mapping[str, Any]) -> dict[str, int]:
    offsets = {}
    for name, offset in named.items():
        topic, _, partition = name.rpartition("/")
        if not topic or not partition.isdigit() or not str(offset).isdigit():
            raise ValueError(f"{name}={offset} is not topic/partition=offset")
        offsets[name] = int(offset)
    if not offsets:
        raise ValueError("it names no partition")
    return offsets


def epochs_of(project: Project, streams: Iterable[str]) -> dict[str, tuple[Epoch, ...]]:
    """Return the recorded epochs of each stream that has any."""
    every = {stream: project.streams.epochs(stream).all() for stream in streams}
    return {stream: epochs for stream, epochs in every.items() if epochs}


def epoch_lines(epochs: Mapping[str, tuple[Epoch, ...]]) -> list[str]:
    """Return a line for each move of a stream: where, when, by whom and why."""
    return [
        f"{stream}: epoch {epoch.number} since {epoch.at:%Y-%m-%d %H:%M:%S} UTC begins at {epoch.to} "
        f"({in_words(epoch.offsets)}): {', '.join(filter(None, (epoch.by, epoch.why)))}."
        for stream, records in epochs.items()
        for epoch in records
        if epoch.number or epoch.offsets  # that a stream began at the beginning is no news
    ]


def show_resets(planned: Iterable[StreamReset]) -> None:
    """Print what resets repeat and skip, and the effects on each output."""
    for one in planned:
        epoch = f"already there, in epoch {one.epoch}" if one.done else f"epoch {one.epoch}"
        out_lines.print(f"{one.stream}: {epoch}")
        table = Table("partition", "from", "to", "repeated", "skipped", box=None)
        for partition, move in one.moves.items():
            now = "not started" if move.now is None else str(move.now)
            table.add_row(partition, now, str(move.then), str(move.repeated), str(move.skipped))
        out.print(table)
        for line in _lines(one):
            out_lines.print(f"  {line}")


def _lines(one: StreamReset) -> list[str]:
    first, last = one.span.first, one.span.last
    moved = f"It repeats {one.repeated} records and skips {one.skipped}"
    between = f", of {first.at:%Y-%m-%d %H:%M:%S} to {last.at:%Y-%m-%d %H:%M:%S} UTC" if first and last else ""
    gone = [f"{one.gone} unread records are gone; the reset acknowledges that."] if one.gone else []
    return [f"{moved}{between}.", *gone, *one.effects]


def _as_json(unit: str, target: Target, planned: Iterable[StreamReset], recorded: Iterable[Epoch]) -> dict[str, Any]:
    return {
        "unit": unit,
        "to": in_words(target),
        "streams": {one.stream: _stream_as_json(one) for one in planned},
        "recorded": [asdict(epoch) for epoch in recorded],
    }


def _stream_as_json(one: StreamReset) -> dict[str, Any]:
    first, last = one.span.first, one.span.last
    return {
        "epoch": one.epoch,
        "done": one.done,
        "repeated": one.repeated,
        "skipped": one.skipped,
        "gone": one.gone,
        "from": first and first.at.isoformat(),
        "to": last and last.at.isoformat(),
        "partitions": {
            partition: {
                "now": move.now,
                "then": move.then,
                "repeated": move.repeated,
                "skipped": move.skipped,
            }
            for partition, move in one.moves.items()
        },
        "effects": one.effects,
    }
