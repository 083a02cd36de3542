"""What every record of cases does. Subclasses give `cases`."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sluice.errors import RefusedError, SpecError
from sluice.intervals.record_positions import RecordPositions
from sluice.quality.cases import Case, CaseEvent, Cases, CaseState
from tests.twins.clock import START

LATER = START + timedelta(hours=1)
PLACES = RecordPositions.of([("t1", 0, 5), ("t1", 0, 6), ("t1", 3, 9)])


def opened(
    name: str = "sales-1", places: RecordPositions = PLACES, at: timedelta = timedelta(0), of: str = "sales"
) -> Case:
    event = CaseEvent(CaseState.OPEN, "ann", "who sends these?", START + at)
    return Case(name, of, "malformed", places, {"malformed": places.count}, (event,))


def becomes(state: CaseState, why: str = "mended") -> CaseEvent:
    return CaseEvent(state, "bob", why, LATER)


class CasesSuite:
    def test_at_first_there_is_none(self, cases: Cases) -> None:
        assert list(cases.of()) == []
        with pytest.raises(SpecError, match="there is no case 'sales-1'"):
            cases.get("sales-1")

    def test_an_open_case_is_on_record_as_it_was_opened(self, cases: Cases) -> None:
        cases.open(opened())
        assert cases.get("sales-1") == opened()
        assert (opened().records, opened().state) == (3, CaseState.OPEN)

    def test_what_happens_to_it_is_added_and_nothing_is_overwritten(self, cases: Cases) -> None:
        cases.open(opened())
        cases.add("sales-1", becomes(CaseState.FIXED))
        replayed = CaseEvent(CaseState.REPLAYED, "bob", "all good", LATER, ("bf-1", "bf-2"), {"good": 3})
        after = cases.add("sales-1", replayed)
        assert cases.get("sales-1") == after
        assert [event.state for event in after.events] == [CaseState.OPEN, CaseState.FIXED, CaseState.REPLAYED]
        assert after.events[-1] == replayed

    def test_what_is_replayed_stays_so(self, cases: Cases) -> None:
        cases.open(opened())
        cases.add("sales-1", becomes(CaseState.REPLAYED))
        for state in CaseState:
            with pytest.raises(RefusedError, match="is replayed since 20"):
                cases.add("sales-1", becomes(state))
        assert len(cases.get("sales-1").events) == 2

    def test_nothing_happens_without_a_reason(self, cases: Cases) -> None:
        cases.open(opened())
        with pytest.raises(SpecError, match="only with a reason"):
            cases.add("sales-1", becomes(CaseState.DISCARDED, why="  "))
        assert cases.get("sales-1").state is CaseState.OPEN

    def test_a_record_is_in_one_live_case_at_most(self, cases: Cases) -> None:
        cases.open(opened())
        with pytest.raises(RefusedError, match=r"2 of these records are in the case sales-1, which is open"):
            cases.open(opened("sales-2", RecordPositions.of([("t1", 0, 6), ("t1", 3, 9), ("t1", 3, 10)])))
        cases.open(opened("sales-2", RecordPositions.of([("t1", 1, 6), ("t2", 0, 5)])))
        cases.open(opened("returns-1", of="returns"))
        assert {case.id for case in cases.of()} == {"sales-1", "sales-2", "returns-1"}

    def test_records_of_a_discarded_case_may_be_in_another_and_then_it_stays_discarded(self, cases: Cases) -> None:
        cases.open(opened())
        cases.add("sales-1", becomes(CaseState.DISCARDED))
        cases.open(opened("sales-2"))
        with pytest.raises(RefusedError, match="3 of these records are in the case sales-2"):
            cases.add("sales-1", becomes(CaseState.OPEN))
        cases.add("sales-2", becomes(CaseState.DISCARDED))
        assert cases.add("sales-1", becomes(CaseState.OPEN)).state is CaseState.OPEN

    def test_cases_come_newest_first(self, cases: Cases) -> None:
        for number in (2, 1, 3):
            place = RecordPositions.of([("t1", number, 0)])
            cases.open(opened(f"sales-{number}", place, timedelta(hours=number)))
        cases.open(opened("returns-1", of="returns"))
        assert [case.id for case in cases.of("sales")] == ["sales-3", "sales-2", "sales-1"]
        assert len(cases.of()) == 4
