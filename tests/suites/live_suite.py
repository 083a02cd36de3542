"""What every table of newest rows shows to its followers. Subclasses give `place` and `source`."""

from __future__ import annotations

from collections.abc import Callable

from sluice.live.source import LiveSource
from tests.suites.latest_suite import Place, at, change

OpenSource = Callable[[], LiveSource]
READ_SECONDS = 5.0


class LiveTableSuite:
    """A writer and a follower of one table."""

    def test_whoever_follows_sees_each_change_whole(self, place: Place, source: OpenSource) -> None:
        store = place.store()
        store.apply(change(10, (5, "AA", 1), (5, "UA", 2)))
        followed = source()
        first = followed.read(READ_SECONDS)
        assert first.whole
        assert sorted((row.fields["carrier"], row.fields["departed"]) for row in first.rows) == [("AA", 1), ("UA", 2)]
        store.apply(change(20, (6, "AA", 7)))
        store.expire(at(6))
        second = followed.read(READ_SECONDS)
        assert [(row.fields["carrier"], row.fields["departed"]) for row in second.rows] == [("AA", 7)]
        followed.close()

    def test_rows_that_expire_after_their_batch_was_read_are_gone(self, place: Place, source: OpenSource) -> None:
        store = place.store()
        store.apply(change(10, (5, "AA", 1), (6, "AA", 2)))
        followed = source()
        followed.read(READ_SECONDS)
        store.expire(at(6))
        again = followed.read(READ_SECONDS)
        assert again.whole
        assert [row.fields["departed"] for row in again.rows] == [2]
        followed.close()

    def test_without_a_change_nothing_is_read_again(self, place: Place, source: OpenSource) -> None:
        store = place.store()
        store.apply(change(10, (5, "AA", 1)))
        followed = source()
        assert followed.read(READ_SECONDS).whole
        silence = followed.read(0.1)
        assert (silence.whole, list(silence.rows), silence.caught_up) == (False, [], True)
        followed.close()
