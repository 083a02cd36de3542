from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from sluice.cli.views.verdict_view import WIDE, partition_table, print_verdicts, sentences, styled, verdict_row
from sluice.streams.health.health import Health
from sluice.streams.health.verdict import PartitionLag, Verdict


@pytest.mark.parametrize("health", Health)
def test_every_verdict_has_a_colour(health: Health) -> None:
    assert health.value in styled(health)


def test_what_is_not_known_is_a_question_mark_and_no_zero() -> None:
    verdict = Verdict(Health.UNKNOWN, "Could not check [at it].", "sluice doctor")
    assert verdict_row("departures", verdict)[3:6] == ("?", "?", "?")
    assert sentences(verdict) == r"Could not check \[at it]. [dim]sluice doctor[/dim]"


@pytest.mark.parametrize("width", [80, WIDE])
def test_a_sentence_is_never_squeezed_into_a_column_of_a_word(width: int) -> None:
    console = Console(file=StringIO(), width=width)
    verdict = Verdict(Health.OK, "Nothing is unread.", "sluice doctor", batches=1)
    print_verdicts(console, [("departures_live", verdict, ("flights", "99.98 %"))], "unit", "available")
    assert isinstance(console.file, StringIO)
    lines = console.file.getvalue().splitlines()
    said = [line for line in lines if "Nothing is unread. sluice doctor" in line]
    assert len(said) == 1
    assert len(lines) == (2 if width == WIDE else 3)
    assert "departures_live" in lines[1]
    assert "99.98 %" in lines[1]


def test_numbers_have_their_units() -> None:
    verdict = Verdict(
        Health.OK, "It works.", batches=1234, lag_records=56_789, lag_seconds=61.4, watermark_lag_seconds=14_400
    )
    assert verdict_row("departures", verdict)[2:6] == ("1,234", "56,789", "1 min 01 s", "4 h 00 min")


def test_each_partition_is_a_row() -> None:
    assert partition_table((PartitionLag("flights/0", 7, 2.0), PartitionLag("flights/1", 0, None))).row_count == 2
