"""Records of the year 2100 in a real topic: refused, or believed and healed, the table is the oracle's."""

from __future__ import annotations

import pytest

from benchmarks import poison
from tests.matrix.recording import FaultRecorder


@pytest.mark.verify
@pytest.mark.timeout(2400)
@pytest.mark.proves("clock-skew")
def test_a_record_of_2100_closes_nothing_and_a_unit_that_believed_one_is_healed(faults: FaultRecorder) -> None:
    figures, notes = poison.run("small")
    refused, healed = (notes["cases"][name] for name in ("refused", "healed"))
    assert [(found["reason"], found["records"]) for found in refused["quarantined"]] == [("future", 4)]
    assert healed["heal"]["tables"]["departures"]["opened"] > 600_000, "a person had let it be settled until 2100"
    faults.struck("four records of 2100 are quarantined as `future`")
    faults.compared("interval tables with an oracle")
    assert figures["late_after"] == 0
    assert figures["equal"]
    assert figures["rows_stored"] <= 1000
