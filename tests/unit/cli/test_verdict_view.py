from __future__ import annotations

import pytest

from sluice.cli.verdict_view import partition_table, styled, verdict_row
from sluice.streams.verdict import Health, PartitionLag, Verdict


@pytest.mark.parametrize("health", Health)
def test_every_verdict_has_a_colour(health: Health) -> None:
    assert health.value in styled(health)


def test_what_is_not_known_is_a_question_mark_and_no_zero() -> None:
    row = verdict_row("departures", Verdict(Health.UNKNOWN, "Could not look [at it].", "sluice doctor"))
    assert row[3:6] == ("?", "?", "?")
    assert row[6] == r"Could not look \[at it]. [dim]sluice doctor[/dim]"


def test_numbers_have_their_units() -> None:
    verdict = Verdict(
        Health.OK, "It works.", batches=1234, lag_records=56_789, lag_seconds=61.4, watermark_lag_seconds=14_400
    )
    assert verdict_row("departures", verdict)[2:6] == ("1,234", "56,789", "61 s", "14,400 s")


def test_each_partition_is_a_row() -> None:
    assert partition_table((PartitionLag("flights/0", 7, 2.0), PartitionLag("flights/1", 0, None))).row_count == 2
