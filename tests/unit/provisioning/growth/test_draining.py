"""A topic grows without a break of order only when nobody writes and every stream has read everything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.errors import RefusedError
from sluice.provisioning.growth.draining import (
    DrainedGrowth,
    GrowthStep,
    Readiness,
    Stillness,
    drain_then_grow,
    undrained,
)
from sluice.provisioning.growth.effects import AffectedStream, GrowthEffects, Statefulness
from sluice.provisioning.retention.cut import Position
from sluice.topics.administration import TopicCreation, TopicExtent
from tests.twins.clock import START, ManualClock
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.order_breaks import InMemoryOrderBreaks


def extent(ends: Mapping[int, int], beginnings: Mapping[int, int] | None = None) -> TopicExtent:
    return TopicExtent("id", beginnings or dict.fromkeys(ends, 0), ends)


offsets = st.dictionaries(st.integers(0, 4), st.integers(0, 5), min_size=1)
positions = st.none() | offsets.map(lambda found: {f"t/{p}": offset for p, offset in found.items()})


@given(offsets, offsets, st.dictionaries(st.sampled_from("abc"), positions, max_size=3))
def test_nobody_who_is_behind_is_ever_called_drained(
    ends: dict[int, int], lengths: dict[int, int], committed: dict[str, Position]
) -> None:
    beginnings = {p: max(0, end - lengths.get(p, end)) for p, end in ends.items()}
    found = {each.stream: each.behind for each in undrained("t", extent(ends, beginnings), committed)}
    for stream, position in committed.items():
        read = None if position is None else {p: position.get(f"t/{p}", beginnings[p]) for p in ends}
        if read is None or any(read[p] > end for p, end in ends.items()):
            assert found[stream] is None
        elif any(read[p] < end for p, end in ends.items()):
            assert found[stream] == {p: end - read[p] for p, end in ends.items() if read[p] < end}
        else:
            assert stream not in found


def test_a_partition_that_was_never_read_counts_from_its_first_record() -> None:
    (found,) = undrained("t", extent({0: 10, 1: 7}, {0: 10, 1: 5}), {"s": {}})
    assert found.behind == {1: 2}
    assert str(found) == "s has yet to read 2 records of partition 1"


def test_whose_position_is_beyond_the_end_has_read_another_topic() -> None:
    (found,) = undrained("t", extent({0: 10, 1: 7}), {"s": {"t/0": 11, "t/1": 7}})
    assert found.behind is None
    assert str(found) == "how far s has read is not known"


@given(st.lists(st.tuples(st.integers(0, 50), offsets), min_size=1, max_size=8))
def test_ends_stand_still_since_they_last_moved(checks: list[tuple[int, dict[int, int]]]) -> None:
    at = 0.0
    still: Stillness | None = None
    since, last = 0.0, checks[0][1]
    for seconds, ends in checks:
        at += seconds
        since, last = (since, last) if ends == last and still is not None else (at, ends)
        still = Stillness(ends, at) if still is None else still.next(ends, at)
        assert (still.since, still.ends) == (since, last)


def test_what_it_waits_for_is_said() -> None:
    still = Stillness({0: 5, 1: 5}, 0.0).next({0: 6, 1: 5}, 10.0)
    behind = undrained("t", extent({0: 6, 1: 5}), {"a": {"t/0": 6, "t/1": 5}, "b": None})
    found = Readiness(behind, 40.0 - still.since, moved=still.moved)
    assert not found
    assert str(found) == "how far b has read is not known; records still came 30 s ago (partition 0)"
    assert Readiness((), 60.0)
    assert not Readiness((), 59.9)
    assert str(Readiness((), 60.0)) == "nothing: it is drained"


@dataclass
class Scene:
    """A topic of two partitions whose writers and streams do something at each check; checking costs no time."""

    doing: Callable[[int], None] = lambda _check: None
    clock: ManualClock = field(default_factory=ManualClock)
    cluster: InMemoryKafkaAdministration = field(default_factory=InMemoryKafkaAdministration)
    breaks: InMemoryOrderBreaks = field(default_factory=InMemoryOrderBreaks)
    committed: dict[str, Position] = field(default_factory=dict)
    checks: int = 0

    def __post_init__(self) -> None:
        self.cluster.create([TopicCreation("t", 2, 1)])
        self.write(0, 3)
        self.committed = {"raw_t": {"t/0": 3}, "sales": {"t/0": 3}}

    def write(self, partition: int, count: int = 1) -> None:
        self.cluster.append("t", partition, [START] * count)

    def read(self, *streams: str) -> None:
        for stream in streams or tuple(self.committed):
            self.committed[stream] = {f"t/{p}": end for p, end in self.cluster.offsets["t"].items()}

    def positions(self, topic: str) -> Mapping[str, Position]:
        assert topic == "t"
        self.checks += 1
        self.doing(self.checks)
        return dict(self.committed)

    def grow(self, deadline_seconds: float = 600) -> object:
        growth = DrainedGrowth(self.cluster, self.breaks, self.positions, self.clock)
        return growth.run("t", 4, deadline_seconds=deadline_seconds)

    @property
    def partitions(self) -> int:
        return self.cluster.topics["t"].partitions


def test_a_topic_at_rest_that_everybody_has_read_grows_after_the_quiet_time() -> None:
    scene = Scene()
    scene.grow()
    (found,) = scene.breaks.of("t")
    assert (scene.partitions, found.drained, found.offsets) == (4, True, {0: 3, 1: 0})
    assert scene.clock.monotonic() == 60


def test_it_waits_for_a_stream_that_is_behind() -> None:
    scene = Scene(lambda check: scene.read() if check == 20 else None)
    scene.committed["sales"] = {"t/0": 1}
    scene.grow()
    assert scene.clock.monotonic() == 95
    assert scene.breaks.of("t")[0].drained


def test_it_waits_until_the_writers_have_paused_and_all_was_read() -> None:
    def doing(check: int) -> None:
        if check < 10:
            scene.write(1)
        scene.read()

    scene = Scene(doing)
    scene.grow()
    assert scene.clock.monotonic() == 5 * 8 + 60
    assert scene.breaks.of("t")[0].offsets == {0: 3, 1: 9}


def test_writers_that_never_pause_are_told_and_nothing_changes() -> None:
    def doing(_check: int) -> None:
        scene.write(1)
        scene.read()

    scene = Scene(doing)
    with pytest.raises(RefusedError, match=r"not drained within 120 s.*records still came 0 s ago \(partition 1\)"):
        scene.grow(deadline_seconds=120)
    assert (scene.partitions, list(scene.breaks.of("t"))) == (2, [])
    assert scene.clock.monotonic() == 120


def test_it_waits_until_no_open_transaction_holds_records_back() -> None:
    def doing(check: int) -> None:
        scene.cluster.held["t"] = {0: 2} if check < 20 else {}
        if check == 20:
            scene.write(0, 2)
        scene.read()

    scene = Scene()
    scene.doing = doing
    scene.grow()
    assert scene.clock.monotonic() == 5 * 19 + 60
    assert scene.breaks.of("t")[0].offsets == {0: 5, 1: 0}


def test_a_transaction_that_stays_open_is_told_and_nothing_changes() -> None:
    scene = Scene()
    scene.cluster.held["t"] = {0: 2}
    with pytest.raises(RefusedError, match=r"not drained .*: an open transaction holds 2 of partition 0 back"):
        scene.grow()
    assert scene.partitions == 2


@pytest.mark.parametrize(("partition", "drained"), [(0, False), (2, True)])
def test_a_transaction_that_is_opened_at_the_last_moment_makes_it_a_growth_with_a_break(
    monkeypatch: pytest.MonkeyPatch, partition: int, drained: bool
) -> None:
    scene = Scene()
    grow = scene.cluster.grow

    def grow_late(*arguments: object) -> None:
        scene.cluster.held["t"] = {partition: 1}
        grow(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(scene.cluster, "grow", grow_late)
    scene.grow()
    assert scene.breaks.of("t")[0].drained is drained


@pytest.mark.parametrize(
    ("position", "why"), [(None, "how far sales has read is not known"), ({"t/0": 2}, "sales has yet to read 1 record")]
)
def test_a_stream_that_does_not_follow_is_told_and_nothing_changes(position: Position, why: str) -> None:
    scene = Scene()
    scene.committed["sales"] = position
    with pytest.raises(RefusedError, match=why):
        scene.grow()
    assert scene.partitions == 2


def test_a_record_that_comes_at_the_last_moment_makes_it_a_growth_with_a_break(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene()
    grow = scene.cluster.grow

    def grow_late(*arguments: object) -> None:
        scene.write(0)
        grow(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(scene.cluster, "grow", grow_late)
    scene.grow()
    (found,) = scene.breaks.of("t")
    assert (scene.partitions, found.drained, found.offsets) == (4, False, {0: 3, 1: 0})


def test_a_topic_that_has_grown_is_not_waited_for() -> None:
    scene = Scene()
    scene.grow()
    scene.write(0, 100)
    first, at = scene.breaks.of("t")[0], scene.clock.monotonic()
    assert scene.grow() == first
    assert scene.clock.monotonic() == at


def test_the_steps_name_whom_a_person_has_to_ask_and_whom_it_waits_for() -> None:
    streams = tuple(AffectedStream(name, "shop", Statefulness.NONE) for name in ("raw_t", "sales"))
    found = drain_then_grow(GrowthEffects("t", 2, 4, streams, feeds=("replay",), pipelines=("news",)))
    assert [(each.action, each.by_hand) for each in found] == [
        (GrowthStep.PAUSE, True),
        (GrowthStep.DRAIN, False),
        (GrowthStep.GROW, False),
        (GrowthStep.RESUME, True),
    ]
    assert found[0].what == "pause the feed replay and the pipeline news, and every other producer"
    assert "until raw_t, sales have read all" in found[1].what
    assert found[2].what == "give t 4 partitions instead of 2"
    assert "metadata.max.age.ms" in found[3].what
    assert "which no spec names" in drain_then_grow(GrowthEffects("t", 2, 4))[0].what
