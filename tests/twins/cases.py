"""The record of cases in memory: the same behaviour as `sluice.control.cases.SqlCases`."""

from __future__ import annotations

from collections.abc import Sequence

from sluice.quality.cases import Case, CaseEvent, CaseState, no_such_case, refuse_shared


class InMemoryCases:
    """Implements `sluice.quality.cases.Cases` for one process."""

    def __init__(self) -> None:
        self.records: dict[str, Case] = {}

    def open(self, case: Case) -> Case:
        refuse_shared(case, self.of(case.pipeline))
        self.records[case.id] = case
        return case

    def add(self, case_id: str, event: CaseEvent) -> Case:
        before = self.get(case_id)
        after = before.after(event)
        if after.state not in (before.state, CaseState.REPLAYED, CaseState.DISCARDED):
            refuse_shared(after, [other for other in self.of(before.pipeline) if other.id != case_id])
        self.records[case_id] = after
        return after

    def get(self, case_id: str) -> Case:
        if case_id not in self.records:
            raise no_such_case(case_id, self.of())
        return self.records[case_id]

    def of(self, pipeline: str | None = None) -> Sequence[Case]:
        found = [case for case in self.records.values() if pipeline in (None, case.pipeline)]
        return tuple(sorted(found, key=lambda case: (case.events[0].at, case.id), reverse=True))
