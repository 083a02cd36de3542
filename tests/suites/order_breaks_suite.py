"""What every record of growths does. Subclasses give `breaks`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from sluice.errors import CorruptionError, RefusedError
from sluice.provisioning.growth.order_break import OrderBreak, OrderBreaks
from tests.twins.clock import START

INTENT = OrderBreak("flights", "id-1", 2, 4, {0: 7, 1: 2**40}, START)
LATER = START + timedelta(minutes=5)


class OrderBreaksSuite:
    def test_at_first_nothing_is_on_record(self, breaks: OrderBreaks) -> None:
        assert list(breaks.of("flights")) == []

    def test_an_intent_is_on_record_before_anybody_has_seen_the_topic_grow(self, breaks: OrderBreaks) -> None:
        breaks.intend(INTENT)
        assert list(breaks.of("flights")) == [INTENT]

    def test_what_an_intent_claims_to_have_happened_is_not_taken_from_it(self, breaks: OrderBreaks) -> None:
        breaks.intend(replace(INTENT, grown_at=START, drained=True))
        assert list(breaks.of("flights")) == [INTENT]

    @pytest.mark.parametrize("drained", [True, False])
    def test_a_growth_that_was_seen_is_confirmed_once(self, breaks: OrderBreaks, drained: bool) -> None:
        breaks.intend(INTENT)
        grown = replace(INTENT, grown_at=LATER, drained=drained)
        assert breaks.confirm("id-1", 4, at=LATER, drained=drained) == grown
        assert breaks.confirm("id-1", 4, at=LATER + timedelta(hours=1), drained=not drained) == grown
        assert list(breaks.of("flights")) == [grown]

    def test_a_later_intent_of_the_same_growth_replaces_the_earlier_one(self, breaks: OrderBreaks) -> None:
        breaks.intend(INTENT)
        again = replace(INTENT, before=3, offsets={0: 8, 1: 9, 2: 1}, intended_at=LATER)
        breaks.intend(again)
        assert list(breaks.of("flights")) == [again]

    def test_a_growth_that_is_over_is_not_intended_again(self, breaks: OrderBreaks) -> None:
        breaks.intend(INTENT)
        grown = breaks.confirm("id-1", 4, at=LATER, drained=False)
        with pytest.raises(RefusedError, match="has grown to 4 partitions already"):
            breaks.intend(replace(INTENT, offsets={0: 99, 1: 99}))
        assert list(breaks.of("flights")) == [grown]

    def test_what_nobody_intended_is_not_confirmed(self, breaks: OrderBreaks) -> None:
        breaks.intend(INTENT)
        for topic_id, after in (("id-2", 4), ("id-1", 8)):
            with pytest.raises(CorruptionError, match=f"{topic_id} to {after} partitions"):
                breaks.confirm(topic_id, after, at=LATER, drained=False)

    def test_growths_of_a_name_come_oldest_first_whatever_topic_bore_it(self, breaks: OrderBreaks) -> None:
        found = [
            INTENT,
            replace(INTENT, before=4, after=8, intended_at=LATER),
            replace(INTENT, topic_id="id-2", intended_at=LATER + timedelta(days=1)),
        ]
        for each in reversed(found):
            breaks.intend(each)
        breaks.intend(replace(INTENT, topic="weather", topic_id="id-3"))
        assert list(breaks.of("flights")) == found
