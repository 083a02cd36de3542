"""A sample of a topic is bounded, takes no record twice, and holds the oldest and the newest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sluice.provisioning.importing.importer import MAX_RECORDS, read_sample, sample_ranges
from sluice.topics.administration import TopicExtent
from tests.unit.provisioning.importing.scene import TOPIC, Scene


@given(st.dictionaries(st.integers(0, 300), st.tuples(st.integers(0, 50), st.integers(0, 5_000)), max_size=300))
def test_a_sample_is_bounded_lies_within_the_topic_and_takes_no_record_twice(
    bounds: dict[int, tuple[int, int]],
) -> None:
    beginnings = {p: first for p, (first, _) in bounds.items()}
    ends = {p: first + count for p, (first, count) in bounds.items()}
    taken: set[tuple[int, int]] = set()
    for start, end in sample_ranges(TopicExtent("id", beginnings, ends)):
        for partition, last in end.items():
            offsets = {(partition, offset) for offset in range(start[partition], last)}
            assert not offsets & taken
            assert beginnings[partition] <= start[partition] <= last <= ends[partition]
            taken |= offsets
    assert len(taken) <= MAX_RECORDS
    assert bool(taken) == any(ends[p] > beginnings[p] for p in ends)


def test_the_oldest_and_the_newest_are_in_the_sample(scene: Scene) -> None:
    scene.send({"first": 1}, *({"middle": 1} for _ in range(1_000)), {"last": 1})
    assert {"first", "last"} <= read_sample(scene.records, TOPIC, scene.cluster.extent(TOPIC)).fields.keys()
