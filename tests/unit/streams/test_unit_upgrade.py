"""What a change of code means for a unit, from what is known of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import TypeAdapter

from sluice.intervals.alignment import Interval
from sluice.intervals.entries import Content
from sluice.intervals.ledger import Ledger, LedgerRow, Written
from sluice.specs.catalog.streams import DeclaredStream, StreamKind
from sluice.specs.model.deadlines import UNDECLARED
from sluice.specs.model.outputs import Output
from sluice.streams.upgrade import PipelineUpgrade, StaleIntervals, UnitUpgrade, output_effects, rollback_steps

HOUR = timedelta(hours=1)
MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)
INTERVALS = {"kind": "intervals", "table": "t", "time_column": "hour", "window": "1 hour", "interval": "hour"}


def row(start: int, end: int, code: str, *, dirty: tuple[str, ...] = ()) -> LedgerRow:
    written = Written("stream", 1, 1, MIDNIGHT, {"t/0": 1}, code, Content(0, "0"))
    bounds = Interval(MIDNIGHT + start * HOUR, MIDNIGHT + end * HOUR)
    return LedgerRow(bounds, base=written, current=written, dirty=dirty, count=end - start)


def ledger(*rows: LedgerRow) -> Ledger:
    return Ledger({r.interval.start: r for r in rows}, closed_until=rows[-1].interval.end if rows else None)


def effect_of(keeps_state: bool | None = None, **output: object) -> str:
    parsed: Output = TypeAdapter(Output).validate_python(output)
    stream = DeclaredStream("s", StreamKind.PIPELINE, ("t",), "", UNDECLARED, (parsed,))
    (found,) = output_effects(stream, keeps_state)
    return found.effect


def test_stale_intervals_are_counted_one_by_one_and_bounded_by_the_first_and_the_last() -> None:
    table = ledger(row(0, 1, "new"), row(1, 5, "old"), row(5, 6, "new"), row(6, 7, "old"), row(7, 8, "x", dirty=("y",)))
    found = StaleIntervals.of(table, "new")
    assert (found.closed, found.stale) == (8, 5)
    command = "sluice backfill run departures --from 2013-01-01T01:00Z --to 2013-01-01T07:00Z"
    assert found.recompute_command("departures") == f"{command} --mode recompute --only stale"


def test_where_nothing_is_stale_nothing_is_recomputed() -> None:
    assert StaleIntervals.of(ledger(), "new") == StaleIntervals(0, 0, None)
    assert not StaleIntervals.of(ledger(row(0, 3, "new")), "new").recompute_command("departures")


def test_only_outputs_with_state_leave_open_whether_it_fits() -> None:
    assert "needs no state" in effect_of(True, **INTERVALS)
    assert "incompatible state" in effect_of(True, kind="latest", table="t", keys=("k",))
    assert "holds no state" in effect_of(False, kind="latest", table="t", keys=("k",))
    assert "is not known" in effect_of(None, kind="topic", topic="t", keys=("k",))
    assert "keeps no state" in effect_of(True, kind="rows", table="t")
    assert "runs no transform" in effect_of(True, kind="dead_letters", topic="t")


@pytest.mark.parametrize(
    ("running", "written", "before", "changed"),
    [
        ("old", "older", "old", True),
        ("new", "old", "new", False),
        (None, "old", "old", True),
        (None, None, None, None),
    ],
)
def test_code_is_compared_with_what_runs_and_else_with_what_wrote_last(
    running: str | None, written: str | None, before: str | None, changed: bool | None
) -> None:
    found = PipelineUpgrade("p", "new", running, written)
    assert (found.before, found.changed) == (before, changed)


def test_a_unit_runs_the_code_on_disk_only_if_its_driver_has_said_so_of_every_pipeline() -> None:
    same, other, silent = PipelineUpgrade("p", "n", "n"), PipelineUpgrade("q", "n", "o"), PipelineUpgrade("r", "n")
    assert UnitUpgrade("flights", 3, (same,)).in_force
    assert not UnitUpgrade("flights", None, (same,)).in_force
    assert not UnitUpgrade("flights", 3, (same, silent)).in_force
    assert UnitUpgrade("flights", 3, (same, other, silent)).outdated == ("q",)


def test_to_go_back_there_is_nothing_to_undo_before_a_promotion_and_a_promotion_after_it() -> None:
    waiting = UnitUpgrade("flights", 3, (PipelineUpgrade("p", "new", "old"),))
    assert not any("--promote" in step for step in rollback_steps(waiting))
    assert "No result has to be undone" in rollback_steps(waiting)[0]
    for promoted in (replace(waiting, pipelines=(PipelineUpgrade("p", "new", "new"),)), replace(waiting, pipelines=())):
        steps = rollback_steps(promoted)
        assert "return them as null" in steps[0]
        assert "sluice streams upgrade flights --promote" in steps[3]
        assert "--only stale" in steps[4]
