"""The figures of a proof say what its checker says, of sound pipelines and of sabotaged ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from benchmarks.proving.pipeline import ModelPipeline
from benchmarks.proving.sabotages import SABOTAGES, LosesTheTail
from benchmarks.proving.world import Load, World
from sluice.proof.figures import STEPS, PartitionCount, ProofTimeline, figures_of
from sluice.proof.findings import ProofFault
from sluice.proof.journal import SendJournal, SendOutcome, SentRecord
from sluice.proof.judgement import judge
from sluice.proof.observations import (
    FiredFault,
    Observations,
    ObservedKind,
    ObservedRecord,
    ObservedRecords,
    ObservedRow,
    ObservedRows,
    RowsPromise,
)
from sluice.topics.records import RecordPosition

LOST = (ProofFault.LOST, ProofFault.LOST_HEAD, ProofFault.LOST_TAIL)
PIPELINES = (ModelPipeline, *SABOTAGES)


@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("seed", [3, 8])
def test_counts_by_partition_add_up_to_the_findings(pipeline: type[ModelPipeline], seed: int) -> None:
    world = World(Load(seed=seed))
    seen = pipeline(world).run()
    proof, figures = judge(world.journal, seen), figures_of(world.journal, seen)
    found: Counter[tuple[ProofFault, str]] = Counter()
    for finding in proof.findings:
        found[finding.fault, finding.where] += finding.count
    for output in seen.outputs:
        counts = figures.partitions[output.name]
        assert sum(each.lost or 0 for each in counts) == sum(found[fault, output.name] for fault in LOST)
        assert sum(each.twice for each in counts) == found[ProofFault.TWICE, output.name]
        unsent = {record.id for record in output.records} - world.journal.by_id.keys()
        assert sum(each.phantom for each in counts) >= len(unsent)
        assert sum(each.found + each.phantom for each in counts) == len({record.id for record in output.records})
    for name, latencies in proof.latencies.items():
        assert max(each.mean for each in figures.minutes[name]) == pytest.approx(latencies.worst_minute, abs=0.001)
        assert sum(each.records for each in figures.minutes[name]) == latencies.records
    for table, intervals in figures.intervals.items():
        assert intervals.different == found[ProofFault.INTERVAL_DIFFERS, table]
    for latest in seen.latest:
        (keys,) = figures.partitions[latest.name]
        assert keys.lost == found[ProofFault.LOST, latest.name]


def test_rows_are_counted_as_the_checker_counts_them() -> None:
    a, b, c, other = (ObservedRow("", content) for content in "abcx")
    rows = ObservedRows("shops", RowsPromise.EACH, expected=(a, b, c), seen=(a, b, b, other))
    (count,) = figures_of(SendJournal(()), Observations(rows=(rows,))).partitions["shops"]
    assert count == PartitionCount(partition=None, sent=3, found=2, lost=1, twice=1, phantom=1)
    unread = replace(rows, is_complete=False)
    (count,) = figures_of(SendJournal(()), Observations(rows=(unread,))).partitions["shops"]
    assert count.lost is None


def test_of_newest_rows_the_keys_are_counted() -> None:
    def row(name: str) -> ObservedRow:
        return ObservedRow(name[0], name)

    output = ObservedRows(
        "shops",
        RowsPromise.NEWEST,
        expected=(row("a2"), row("b1"), row("b2"), row("c1"), row("d1")),
        allowed=(row("c2"), row("e1")),
        older=(row("d0"),),
        seen=(row("a1"), row("a2"), row("b2"), row("c2"), row("d0"), row("e1")),
        is_ordered=True,
    )
    (count,) = figures_of(SendJournal(()), Observations(rows=(output,))).partitions["shops"]
    assert count == PartitionCount(partition=None, sent=4, found=3), "the row of d is an old one"


def test_the_counts_over_time_rise_to_what_was_sent_and_read() -> None:
    world = World(Load(seed=4))
    seen = ModelPipeline(world).run()
    timeline = figures_of(world.journal, seen).timeline
    assert timeline is not None
    assert len(timeline.at) == STEPS + 1
    assert timeline.sent[-1] == len(world.journal)
    assert timeline.acknowledged[-1] == len(world.journal.acknowledged)
    for output in seen.outputs:
        assert timeline.read[output.name][-1] == len({record.id for record in output.records})
        assert timeline.waiting[output.name][-1] == 0
    for counts in (timeline.at, timeline.sent, timeline.acknowledged, *timeline.read.values()):
        assert all(earlier <= later for earlier, later in pairwise(counts))


def test_what_is_lost_waits_for_ever() -> None:
    world = World(Load(seed=4))
    seen = LosesTheTail(world).run()
    figures = figures_of(world.journal, seen)
    assert figures.timeline is not None
    for output in seen.outputs:
        lost = sum(each.lost or 0 for each in figures.partitions[output.name])
        assert figures.timeline.waiting[output.name][-1] == lost
    assert figures.timeline.waiting["raw"][-1] > 0


def sent(number: int, at: float, outcome: SendOutcome = SendOutcome.ACKNOWLEDGED) -> SentRecord:
    position = RecordPosition(0, number) if outcome is SendOutcome.ACKNOWLEDGED else None
    return SentRecord(f"r{number}", "p", number, "k", number, "c", at, outcome, position)


def raw(*readable: float | None, **more: bool) -> ObservedRecords:
    records = (ObservedRecord(f"r{n}", "c", RecordPosition(0, n), at) for n, at in enumerate(readable))
    return ObservedRecords("raw", ObservedKind.RAW, tuple(records), **more)


@pytest.mark.parametrize(
    ("readable", "healed", "until"),
    [((11.0, 31.0, 41.0), True, 31.0), ((11.0, 31.0, 41.0), False, None), ((11.0, None, None), True, None)],
)
def test_a_fault_lasts_until_something_is_read_that_was_sent_after_it(
    readable: tuple[float | None, ...], healed: bool, until: float | None
) -> None:
    journal = SendJournal(tuple(sent(n, 10.0 * (n + 1)) for n in range(3)))
    fault = FiredFault("kill", 15.0, "gone", healed)
    (span,) = figures_of(journal, Observations(outputs=(raw(*readable),), faults=(fault,))).spans
    assert (span.name, span.at, span.until) == ("kill", 15.0, until)


def test_what_has_no_time_was_there_from_the_beginning() -> None:
    journal = SendJournal(tuple(sent(n, float(n)) for n in range(3)))
    timeline = figures_of(journal, Observations(outputs=(raw(None, 2.0, 3.0),))).timeline
    assert timeline is not None
    assert (timeline.read["raw"][0], timeline.read["raw"][-1]) == (1, 3)


def test_of_an_output_that_was_not_read_to_its_end_nothing_is_lost() -> None:
    journal = SendJournal(tuple(sent(n, float(n)) for n in range(3)))
    counts = figures_of(journal, Observations(outputs=(raw(1.0, is_complete=False),))).partitions["raw"]
    assert counts == (PartitionCount(partition=0, sent=3, found=1, lost=None),)


def test_records_that_failed_or_that_nobody_sent_are_phantoms_where_they_are() -> None:
    journal = SendJournal((sent(0, 0.0), sent(1, 1.0, SendOutcome.FAILED), sent(2, 2.0, SendOutcome.UNKNOWN)))
    records = (*raw(1.0, 2.0, 3.0).records, ObservedRecord("x", "c"), ObservedRecord("x", "c"))
    counts = figures_of(journal, Observations(outputs=(ObservedRecords("raw", ObservedKind.ROWS, records),)))
    assert counts.partitions["raw"] == (
        PartitionCount(partition=0, sent=1, found=2, phantom=1),
        PartitionCount(partition=None, twice=1, phantom=1),
    )


def test_nothing_sent_and_nothing_seen_are_figures_too() -> None:
    figures = figures_of(SendJournal(()), Observations(interval_tables=frozenset({"t"})))
    assert (figures.timeline, figures.partitions, figures.minutes, figures.spans) == (None, {}, {}, ())
    assert figures.intervals["t"].equal == 0


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ({"at": [1.0, 2.0], "sent": [1], "acknowledged": [1, 1]}, "other moments than counts"),
        ({"at": [2.0, 1.0], "sent": [1, 1], "acknowledged": [1, 1]}, "not in their order"),
        ({"at": [1e300], "sent": [1], "acknowledged": [1]}, "less than or equal to"),
        ({"at": [1.0], "sent": [-1], "acknowledged": [1]}, "greater than or equal to 0"),
    ],
)
def test_a_timeline_that_is_no_picture_is_refused(broken: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        ProofTimeline.model_validate(broken)
