from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.failures.capacity import (
    Application,
    ClusterCapacity,
    ResourceRequest,
    Worker,
    minimum_cores,
    shortage,
)

NEED = ResourceRequest("sluice-local-flights", 2, 700, ("raw_flights", "departures"))
FREE, TAKEN, FULL = Worker(1, 1, 1024), Worker(1, 0, 324), Worker(1, 1, 100)
OTHER = Application("sluice-local-weather", 2)


def offer(*workers: Worker, applications: tuple[Application, ...] = ()) -> ClusterCapacity:
    return ClusterCapacity("spark://127.0.0.1:7077", workers, applications)


def test_enough_free_cores_are_room() -> None:
    assert shortage(NEED, offer(FREE, FREE)) == ""


def test_a_lack_of_room_says_what_is_needed_offered_free_and_used_by_whom() -> None:
    assert shortage(NEED, offer(TAKEN, TAKEN, applications=(OTHER,))) == (
        "raw_flights and departures need at least 2 cores in executors of 700 MB, the cluster spark://127.0.0.1:7077 "
        "offers 2 cores in 2 workers; free: 0, used by sluice-local-weather (2)"
    )


def test_one_of_two_cores_is_no_room() -> None:
    assert "free: 1, used by sluice-local-weather (2)" in shortage(NEED, offer(FREE, TAKEN, applications=(OTHER,)))


def test_a_cluster_without_workers_offers_nothing() -> None:
    assert "offers 0 cores in 0 workers; free: 0, used by no application" in shortage(NEED, offer())


def test_a_core_without_memory_beside_it_is_none_and_said_to_be() -> None:
    said = shortage(NEED, offer(FREE, FULL))
    assert "offers 2 cores in 2 workers; free: 1 (1 more without enough memory beside them)" in said


def test_what_the_dead_attempt_of_the_same_unit_still_holds_is_free() -> None:
    mine = Application(NEED.application, 2)
    assert shortage(NEED, offer(TAKEN, TAKEN, applications=(mine,))) == ""
    assert shortage(NEED, offer(TAKEN, TAKEN, applications=(replace(mine, name="sluice-prod-flights"),))) != ""


def test_an_executor_is_wholly_on_one_worker_with_memory_of_its_own() -> None:
    need = replace(NEED, executor_cores=2)
    assert shortage(need, offer(Worker(4, 3, 700))) == ""
    assert shortage(need, offer(FREE, FREE)).endswith(
        "free: 0 (2 more without what else an executor needs beside them), used by no application"
    )
    assert "at least 2 cores in executors of 2 cores and 700 MB" in shortage(need, offer())
    assert shortage(replace(need, cores=3), offer(Worker(4, 4, 1399))) != ""  # memory for one executor
    assert shortage(replace(need, cores=3), offer(Worker(4, 4, 1400))) == ""


def test_an_application_that_waits_uses_nothing_and_is_not_blamed() -> None:
    assert shortage(NEED, offer(TAKEN, applications=(Application("waits", 0),))).endswith("used by no application")


def test_a_batch_is_spoken_of_in_the_singular() -> None:
    batch = ResourceRequest("sluice-backfill-departures", 1, 700, ("a batch of departures",))
    assert shortage(batch, offer()).startswith("a batch of departures needs at least 1 core in ")


def test_each_stream_has_a_core_of_its_own_as_far_as_the_spec_lets_them() -> None:
    assert [minimum_cores(streams, most) for streams, most in ((1, 2), (2, 2), (3, 2), (0, 4))] == [1, 2, 2, 1]


workers = st.lists(st.builds(Worker, st.integers(1, 4), st.integers(0, 4), st.integers(0, 2048)), max_size=4)


@given(workers, st.integers(1, 8), st.integers(450, 2048))
def test_there_is_room_exactly_if_workers_with_memory_have_the_cores(
    found: list[Worker], cores: int, memory: int
) -> None:
    need = replace(NEED, cores=cores, executor_mb=memory)
    free = sum(worker.free_cores for worker in found if worker.free_mb >= memory)
    assert (shortage(need, offer(*found)) == "") is (free >= cores)


@given(workers, st.integers(1, 8), st.integers(450, 2048), st.integers(1, 4))
def test_executors_of_a_size_are_counted_as_a_master_gives_them(
    found: list[Worker], cores: int, memory: int, each: int
) -> None:
    need = replace(NEED, cores=cores, executor_mb=memory, executor_cores=each)
    given_cores, left = 0, [(worker.free_cores, worker.free_mb) for worker in found]
    while left:
        free, free_mb = left.pop()
        if free >= each and free_mb >= memory:
            given_cores += each
            left.append((free - each, free_mb - memory))
    assert (shortage(need, offer(*found)) == "") is (given_cores >= cores)
