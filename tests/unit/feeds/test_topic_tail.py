"""The end of a topic after a sender died: what it had on its way arrives first, whatever others write meanwhile."""

from __future__ import annotations

from collections.abc import Mapping

from sluice.feeds.topic_tail import quiet_ends
from sluice.topics.administration import TopicExtent
from tests.twins.clock import ManualClock
from tests.twins.feed_topic import InMemoryTopic


class WrittenTopic(InMemoryTopic):
    """Others write into it each time that it is asked.

    Args:
        counts: how many records come into a partition by then, the first ones with the second question.
    """

    def __init__(self, counts: Mapping[int, list[int]]) -> None:
        super().__init__(partitions=2)
        self._counts = counts
        self._asked = 0

    def extent(self) -> TopicExtent:
        for partition, counts in self._counts.items():
            for _ in range(counts[self._asked] if self._asked < len(counts) else 0):
                self.append(b"", partition)
        self._asked += 1
        return super().extent()


def waited(counts: Mapping[int, list[int]]) -> tuple[Mapping[int, int], float]:
    clock = ManualClock()
    return quiet_ends(WrittenTopic(counts), clock), clock.monotonic()


def test_it_waits_until_nothing_has_come_for_a_second() -> None:
    assert waited({}) == ({0: 0, 1: 0}, 1)
    assert waited({0: [5, 3, 1]}) == ({0: 9, 1: 0}, 3)


def test_a_partition_that_was_still_is_not_waited_for_again() -> None:
    assert waited({0: [0, 1, 0, 1, 1, 1], 1: [0, 0, 1, 1]}) == ({0: 1, 1: 1}, 2)


def test_somebody_who_never_pauses_is_not_waited_for() -> None:
    assert waited({1: [1] * 1_000}) == ({0: 0, 1: 11}, 10)
