"""`--from` and `--to` mean the same in every command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from sluice.airflow.batches.backfill_request import instant
from sluice.cli.main import app
from sluice.cli.terminal.instants import end_of, start_of

OTHERWISE = {
    "new feed --from": "a file",
    "topics tail --from": "a place in a topic",
    "streams reset --to": "a place in a topic",
}
"""Options of that name which are no bound of a range of time."""


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2013-01-07", "2013-01-07T00:00:00+00:00", "2013-01-08T00:00:00+00:00"),
        ("2013-12-31", "2013-12-31T00:00:00+00:00", "2014-01-01T00:00:00+00:00"),
        ("2013-01-07T12:00", "2013-01-07T12:00:00+00:00", "2013-01-07T12:00:00+00:00"),
        ("2013-01-07T00:00:00Z", "2013-01-07T00:00:00+00:00", "2013-01-07T00:00:00+00:00"),
        ("2013-01-07T12:00+02:00", "2013-01-07T10:00:00+00:00", "2013-01-07T10:00:00+00:00"),
    ],
)
def test_a_date_is_a_whole_day_and_a_time_is_the_first_that_is_left_out(text: str, start: str, end: str) -> None:
    assert start_of(text).isoformat() == start
    assert end_of(text).isoformat() == end


def test_the_form_of_a_backfill_reads_dates_as_the_command_line_does() -> None:
    assert instant("2013-01-07", through=True) == end_of("2013-01-07")
    assert instant("2013-01-07") == start_of("2013-01-07")
    assert instant("2013-01-07T12:00Z", through=True) == end_of("2013-01-07T12:00")


@pytest.mark.parametrize("text", ["yesterday", "2013-02-30", "2013-01-07T25:00", "9999-12-31T23:59-14:00", ""])
def test_what_is_no_time_is_refused_with_a_form_to_write(text: str) -> None:
    for read in (start_of, end_of):
        with pytest.raises(typer.BadParameter, match="write a date such as"):
            read(text)


def options(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - of click
    for option in command.params:
        yield from ((" ".join([*path, name]), option) for name in option.opts)
    if isinstance(command, TyperGroup):
        context = typer.Context(command)
        for name in command.list_commands(context):
            yield from options(command.get_command(context, name), (*path, name))


def test_every_bound_of_every_command_follows_the_rule() -> None:
    bounds = {name: o for name, o in options(typer.main.get_command(app)) if name.endswith((" --from", " --to"))}
    assert set(OTHERWISE) <= set(bounds)
    assert len(bounds) > 12
    for name, option in bounds.items():
        said = option.help or ""
        if name not in OTHERWISE:
            assert ("included" in said) is name.endswith("--to"), name
            assert "exclusive" not in said
            assert "inclusive" not in said
