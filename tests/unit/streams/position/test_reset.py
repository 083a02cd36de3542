"""What a reset repeats and skips, against an oracle that counts records one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.errors import RefusedError
from sluice.settings import settings
from sluice.specs.load import load_catalog
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import DeadLettersOutput, LatestOutput, Output, RowsOutput, TopicOutput
from sluice.streams.position.reset import Move, effects, moves, raw_offsets
from sluice.topics.administration import TopicExtent


@st.composite
def partitions(draw: st.DrawFn) -> Move:
    first, length = draw(st.integers(0, 30)), draw(st.integers(0, 30))
    now = draw(st.none() | st.integers(0, first + length))
    return Move(first, first + length, now, draw(st.integers(first, first + length)))


@given(partitions())
def test_the_counts_are_those_of_the_records(move: Move) -> None:
    there_are = set(range(move.first, move.end))
    has_read = set() if move.now is None else set(range(move.now))
    will_read = set(range(move.then, move.end))
    assert move.repeated == len(there_are & has_read & will_read)
    assert move.skipped == len(there_are - has_read - will_read)
    never_read_and_gone = set() if move.now is None else set(range(move.now, move.first))
    assert move.gone == len(never_read_and_gone)


def test_every_partition_that_there_is_moves_also_one_that_the_stream_has_not_seen() -> None:
    found = moves("flights", TopicExtent("id", {0: 0, 1: 3}, {0: 9, 1: 8}), {0: 4}, {0: 2, 1: 8})
    assert found == {"flights/0": Move(0, 9, 4, 2), "flights/1": Move(3, 8, None, 8)}
    assert [(move.repeated, move.skipped) for move in found.values()] == [(2, 0), (0, 5)]


def test_a_raw_stream_is_not_reset_while_the_topic_has_all_that_it_needs() -> None:
    extent = TopicExtent("id", {0: 0, 1: 3}, {0: 9, 1: 8})
    with pytest.raises(RefusedError, match=r"every record exactly once.*the topic has all it needs"):
        raw_offsets("raw_flights", extent, {0: 4, 1: 3}, to_earliest=True)


def test_a_raw_stream_acknowledges_what_is_gone_and_leaves_out_and_repeats_nothing_else() -> None:
    extent = TopicExtent("id", {0: 0, 1: 5, 2: 2}, {0: 9, 1: 8, 2: 4})
    with pytest.raises(RefusedError, match="2 records are gone"):
        raw_offsets("raw_flights", extent, {0: 4, 1: 3}, to_earliest=False)
    then = raw_offsets("raw_flights", extent, {0: 4, 1: 3}, to_earliest=True)
    assert then == {0: 4, 1: 5, 2: 2}
    found = moves("flights", extent, {0: 4, 1: 3}, then).values()
    assert [(m.repeated, m.skipped, m.gone) for m in found] == [(0, 0, 0), (0, 0, 2), (0, 0, 0)]


BACK, ON, WHOLE = Move(0, 100, 60, 40), Move(0, 100, 60, 90), Move(0, 100, 60, 0)


@pytest.mark.parametrize(
    ("output", "moved", "said"),
    [
        (RowsOutput(kind="rows", table="r"), BACK, "what becomes of 20 records is appended again"),
        (RowsOutput(kind="rows", table="r"), ON, "30 records are never appended"),
        (RowsOutput(kind="rows", table="r"), Move(0, 9, 4, 4), "nothing is repeated and nothing left out"),
        (LatestOutput(kind="latest", table="l", keys=("k",)), BACK, "merged again; what an aggregation gives"),
        (LatestOutput(kind="latest", table="l", keys=("k",)), WHOLE, "what becomes of 60 records is merged again."),
        (TopicOutput(kind="topic", topic="t", keys=("k",)), BACK, "published again under new ids"),
        (
            DeadLettersOutput(kind="dead_letters", topic="d"),
            BACK,
            "d (dead letters): what becomes of 20 records is sent",
        ),
    ],
)
def test_each_output_says_what_it_means(output: Output, moved: Move, said: str) -> None:
    (found,) = effects([output], [moved], live=False)
    assert said in found


@pytest.mark.parametrize("moved", [BACK, ON, WHOLE])
def test_an_interval_table_loses_and_repeats_nothing_wherever_its_stream_goes(
    pipeline: PipelineSpec, moved: Move
) -> None:
    (found,) = effects([pipeline.intervals], [moved], live=False)
    assert "settled intervals stay as they are" in found
    assert "open ones are computed from the raw table, whatever the stream's position" in found


@pytest.fixture(scope="module")
def pipeline() -> PipelineSpec:
    return load_catalog(settings().home / "include").pipelines["departures"]
