from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.health.health import Health
from sluice.streams.health.recording import DWELL, RecordedVerdict, lagging_since, worth_recording
from sluice.streams.health.verdict import Verdict
from tests.twins.clock import START


def recorded(health: Health, generation: int = 1) -> RecordedVerdict:
    return RecordedVerdict("flights", "departures", generation, Verdict(health, "So it is."), START)


def worth(
    was: Health | None,
    health: Health,
    *,
    last: Health | None = None,
    after: timedelta = timedelta(hours=1),
    generation: int = 1,
) -> bool:
    newest = None if was is None else recorded(was)
    return worth_recording(newest, Verdict(health, "So it is."), generation, last=last, now=START + after)


@pytest.mark.parametrize("health", Health)
def test_the_first_verdict_of_a_generation_is_recorded(health: Health) -> None:
    assert worth(None, health)
    assert worth(health, health, generation=2)


@pytest.mark.parametrize("health", Health)
def test_a_late_verdict_of_an_older_generation_is_not(health: Health) -> None:
    newest = recorded(Health.OK, generation=2)
    assert not worth_recording(newest, Verdict(health, "So it was."), 1, last=health, now=START + timedelta(hours=1))


@pytest.mark.parametrize("health", Health)
def test_the_same_again_is_not(health: Health) -> None:
    assert not worth(health, health, last=health)


@pytest.mark.parametrize("health", [Health.STOPPED, Health.REWOUND])
def test_what_is_proven_is_recorded_at_once(health: Health) -> None:
    assert worth(Health.OK, health, after=timedelta(0))


@pytest.mark.parametrize("health", [Health.UNKNOWN, Health.LAGGING, Health.STALLED, Health.LOSS_RISK])
def test_a_change_for_the_worse_is_recorded_when_two_observations_agree(health: Health) -> None:
    assert not worth(Health.OK, health, last=Health.OK)
    assert not worth(Health.OK, health, last=None)
    assert worth(Health.OK, health, last=health, after=timedelta(0))


@pytest.mark.parametrize(
    ("was", "health"),
    [
        (Health.STALLED, Health.OK),
        (Health.LOSS_RISK, Health.LAGGING),
        (Health.UNKNOWN, Health.OK),
        (Health.OK, Health.IDLE),
        (Health.IDLE, Health.OK),
    ],
)
def test_a_recovery_and_a_silence_are_recorded_once_they_lasted(was: Health, health: Health) -> None:
    assert not worth(was, health, last=health, after=DWELL - timedelta(seconds=1))
    assert worth(was, health, last=health, after=DWELL)


@pytest.mark.parametrize("health", [Health.OK, Health.IDLE])
def test_the_end_of_a_start_is_recorded_when_two_observations_agree(health: Health) -> None:
    assert not worth(Health.STARTING, health, last=Health.STARTING, after=timedelta(0))
    assert worth(Health.STARTING, health, last=health, after=timedelta(0))


@given(st.lists(st.sampled_from(sorted(set(Health) - {Health.STOPPED, Health.REWOUND})), min_size=2, max_size=200))
def test_however_it_flaps_it_writes_a_few_rows_in_five_minutes(found: list[Health]) -> None:
    newest, last, rows = recorded(Health.OK), None, []
    for number, health in enumerate(found):
        now = START + timedelta(seconds=10 * number)
        verdict = Verdict(health, "So it is.")
        if worth_recording(newest, verdict, 1, last=last, now=now):
            newest = RecordedVerdict("flights", "departures", 1, verdict, now)
            rows.append(now)
        last = health
    # Four steps to the worse at most, from any state, and one back.
    assert all(later - first >= DWELL for first, later in zip(rows, rows[5:], strict=False))


def test_a_leak_is_on_record_for_its_own_generation_only() -> None:
    assert lagging_since(recorded(Health.LAGGING), 1) == START
    assert lagging_since(recorded(Health.LAGGING), 2) is None
    assert lagging_since(recorded(Health.STALLED), 1) is None
    assert lagging_since(None, 1) is None
