"""Records of the year 2100 in a real topic: refused, or believed and healed, the table is the oracle's."""

from __future__ import annotations

import pytest

from benchmarks import poison


@pytest.mark.verify
@pytest.mark.timeout(2400)
def test_a_record_of_2100_closes_nothing_and_a_unit_that_believed_one_is_healed() -> None:
    figures, notes = poison.run("small")
    refused, believed, healed = (notes["cases"][name] for name in ("refused", "believed", "healed"))
    assert [(found["reason"], found["records"]) for found in refused["quarantined"]] == [("future", 4)]
    assert believed["late_after"] > 0, "the control: what came behind such a record was late"
    assert healed["heal"]["tables"]["departures"]["opened"] > 600_000
    assert healed["repaired"]
    assert figures["late_after"] == 0
    assert figures["equal"]
    assert figures["rows_stored"] <= 1000
