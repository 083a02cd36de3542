"""The choice of replicas: loads add up, and no partition would choose otherwise when it knows the others."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from sluice.provisioning.placement.cells import Cells
from sluice.provisioning.placement.replicas import Choice, Loads, Task, _Chooser, choose_replicas
from sluice.provisioning.placement.topology import Broker, Topology
from sluice.provisioning.placement.validity import ValidSets

MANY = settings(max_examples=max(60, settings().max_examples))
BROKERS = 5
Puts = list[tuple[Choice, int]]

PUTS = st.tuples(st.sets(st.integers(0, BROKERS - 1), min_size=1, max_size=3).map(tuple), st.integers(0, 9))


def held(loads: Loads) -> tuple[list[int], list[int]]:
    return loads.replicas.tolist(), loads.bytes.tolist()


def counted(puts: Puts) -> tuple[list[int], list[int]]:
    replicas = [sum(broker in brokers for brokers, _ in puts) for broker in range(BROKERS)]
    return replicas, [sum(size for brokers, size in puts if broker in brokers) for broker in range(BROKERS)]


@given(st.lists(PUTS, max_size=8), st.lists(PUTS, max_size=8))
def test_loads_are_what_was_put_and_not_taken_away(stay: Puts, go: Puts) -> None:
    loads = Loads(BROKERS)
    for brokers, size in [*go, *stay]:
        loads.add(brokers, size)
    for brokers, size in go:
        loads.add(brokers, size, times=-1)
    assert held(loads) == counted(stay)


racks = st.lists(st.integers(0, 2), min_size=BROKERS, max_size=BROKERS)
asked = st.lists(st.tuples(st.integers(0, BROKERS - 1), st.integers(0, 9)), min_size=1, max_size=7)


@MANY
@given(racks, asked, st.lists(PUTS, max_size=4))
@example(
    [0, 0, 1, 1, 0],
    [(3, 0), (0, 7), (0, 5), (2, 2), (3, 3)],
    [((2, 1), 6), ((2, 4), 7), ((3, 0), 4), ((4, 2), 8)],
)
def test_no_partition_would_choose_otherwise_when_it_knows_the_others(
    racks: list[int], asked: list[tuple[int, int]], others: Puts
) -> None:
    cells = Cells(Topology(Broker(number, {"rack": str(rack)}) for number, rack in enumerate(racks)))
    sets = ValidSets(cells, 3)
    tasks = {number: Task((), leader, 3, size, sets) for number, (leader, size) in enumerate(asked)}
    loads = Loads(BROKERS)
    for brokers, size in others:
        loads.add(brokers, size)
    chosen = choose_replicas(tasks, loads, cells)
    assert held(loads) == counted([*others, *((chosen[number], task.size) for number, task in tasks.items())])
    for number, task in tasks.items():
        assert chosen[number][0] == task.leader
        loads.add(chosen[number], task.size, times=-1)
        assert loads.weight(_Chooser(loads, cells).best(task)) >= loads.weight(chosen[number])
        loads.add(chosen[number], task.size)
