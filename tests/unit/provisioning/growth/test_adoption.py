"""How a stream has taken a growth, by one check."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.provisioning.growth.adoption import Growth, GrowthAdoption, followed
from sluice.streams.health.observation import Observation
from sluice.streams.life.launcher import DriverReport, DriverState

GROWTH = Growth("sales", 2, 4, {"raw_sales": 10})
NOW = datetime(2013, 1, 7, tzinfo=UTC)
RUNNING = DriverReport("key", DriverState.RUNNING)
ENDED = DriverReport("key", DriverState.ENDED)


def seen(
    committed: dict[int, int] | None, ends: dict[int, int] | None = None, driver: DriverReport | None = RUNNING
) -> Observation:
    def named(offsets: dict[int, int] | None) -> dict[str, int] | None:
        return None if offsets is None else {f"sales/{partition}": offset for partition, offset in offsets.items()}

    ends = {0: 9, 1: 9, 2: 0, 3: 0} if ends is None else ends
    return Observation(NOW, driver, named(committed), ends=named(ends), starts=named(dict.fromkeys(ends, 0)))


@pytest.mark.parametrize(
    ("observation", "state", "said"),
    [
        (
            seen({0: 9, 1: 9, 2: 0, 3: 0}),
            GrowthAdoption.READS,
            "reads sales/2, sales/3 from the start, and has nothing",
        ),
        (seen({0: 9, 1: 0, 2: 0, 3: 0}), GrowthAdoption.READS, "has 9 records yet to read; it had 10"),
        (seen({0: 8, 1: 0, 2: 0, 3: 0}), GrowthAdoption.WAITS, "has 10 records yet to read; it had 10"),
        (seen({0: 9, 1: 9, 3: 0}), GrowthAdoption.WAITS, "has yet to begin with sales/2"),
        (seen({0: 9, 1: 9}), GrowthAdoption.WAITS, "has yet to begin with sales/2, sales/3"),
        (seen(None), GrowthAdoption.WAITS, "could not be observed"),
        (seen({0: 9, 1: 9, 2: 0, 3: 0}, driver=None), GrowthAdoption.WAITS, "could not be observed"),
        (
            seen({0: 9}, driver=DriverReport("key", DriverState.ABSENT)),
            GrowthAdoption.RESTS,
            "was never started; it begins",
        ),
        (
            seen({0: 9}, driver=DriverReport("key", DriverState.LOST)),
            GrowthAdoption.WAITS,
            "is down, although it should run",
        ),
        (
            replace(seen({0: 9}, driver=ENDED), stop_requested=True),
            GrowthAdoption.RESTS,
            "is stopped; it begins with the new",
        ),
        (
            replace(seen({0: 9}, driver=ENDED), halted="its budget is spent"),
            GrowthAdoption.RESTS,
            "is halted; it begins",
        ),
    ],
)
def test_a_check_says_how_it_is(observation: Observation, state: GrowthAdoption, said: str) -> None:
    found = followed(GROWTH, "raw_sales", observation)
    assert found.state is state
    assert said in found.observed
    assert str(found).startswith("sales: raw_sales ")


def test_where_nobody_could_check_the_growth_reading_all_partitions_is_enough() -> None:
    observation = seen({0: 0, 1: 0, 2: 0, 3: 0})
    assert followed(Growth("sales", 2, 4), "raw_sales", observation).state is GrowthAdoption.READS


def test_under_steady_traffic_it_is_enough_to_have_read_what_there_was() -> None:
    growth = Growth("sales", 2, 4, {"raw_sales": 0}, {"sales/0": 9, "sales/1": 9})
    ends = {0: 20, 1: 20, 2: 5, 3: 5}
    assert followed(growth, "raw_sales", seen({0: 9, 1: 9, 2: 1, 3: 0}, ends)).state is GrowthAdoption.READS
    assert followed(growth, "raw_sales", seen({0: 8, 1: 9, 2: 1, 3: 0}, ends)).state is GrowthAdoption.WAITS


def test_a_stream_that_began_after_the_growth_elsewhere_is_told_of() -> None:
    found = followed(GROWTH, "raw_sales", seen({0: 9, 1: 9, 2: 0, 3: 0}), {"sales/2": 4, "sales/3": 0})
    assert found.state is GrowthAdoption.READS
    assert "began after the growth, with sales/2 not at the start" in found.observed


@given(st.dictionaries(st.integers(0, 3), st.integers(0, 9)), st.integers(0, 40))
def test_it_reads_only_if_it_names_every_new_partition_and_is_nearer(committed: dict[int, int], unread: int) -> None:
    ends = dict.fromkeys(range(4), 9)
    found = followed(Growth("sales", 2, 4, {"s": unread}), "s", seen(committed, ends))
    left = sum(9 - committed.get(partition, 0) for partition in range(4))
    assert (found.state is GrowthAdoption.READS) == ({2, 3} <= committed.keys() and (left == 0 or left < unread))


def test_a_growth_survives_json() -> None:
    assert Growth.of(GROWTH.as_dict()) == GROWTH
