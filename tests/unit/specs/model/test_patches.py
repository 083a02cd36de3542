"""Declared patches: each mistake is refused at its line, and what a case proposes is what a spec reads."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sluice.clock import SystemClock
from sluice.intervals.record_positions import RecordPositions
from sluice.quality.cases import Case, CaseEvent, CaseState
from sluice.quality.patching import declaration, patches_for
from sluice.specs.code.closure import meaning
from sluice.specs.model.patches import Patch, Replacement
from tests.unit.specs.bench import TOPIC, TOPIC_FILE, Bench

PATCH = """\
  patches:
    - why: ticket 4711
      topic_id: qWzR-1
      records: {0: [12, 40-55], 1: [7]}
      replace:
        - {pattern: '"a":(\\d)', by: '"a":"$1"'}
"""


def declare(bench: Bench, patch: str) -> None:
    (line,) = (line for line in TOPIC.splitlines() if line.startswith("  event_time:"))
    bench.edit(TOPIC_FILE, line, f"{patch}{line}")


def test_a_patch_names_records_and_what_is_read_instead(bench: Bench) -> None:
    before = bench.scan().catalog
    declare(bench, PATCH)
    scan = bench.scan()
    assert scan.faults == ()
    (patch,) = scan.catalog.topics["orders"].value.patches
    assert str(patch.places) == "0:12,40-55; 1:7"
    assert ("qWzR-1", 0, 41) in patch.places
    pipeline, topic = scan.catalog.pipelines["sales"], scan.catalog.topics["orders"]
    assert meaning(pipeline, {"orders": topic}) != meaning(pipeline, before.topics)
    bench.edit(TOPIC_FILE, "ticket 4711", "ticket 4712, which says more")
    assert meaning(pipeline, bench.scan().catalog.topics) == meaning(pipeline, {"orders": topic})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("40-55", "55-40", "55-40 ends before it begins"),
        ("[12, 40-55]", "[]", "partition 0 has no offsets"),
        ("40-55", "forty", "'forty' names no offsets"),
        ("12,", "-12,", "-12 names no offsets"),
        ("1: [7]", "2: [7]", "the topic has the partitions 0 to 1"),
        ("(\\d)'", "(\\d'", "is no regular expression"),
        ("$1", "$2", "it uses $2, and the pattern has 1 group(s)"),
        ("$1", "$", "a dollar or a backslash stands alone in it"),
        ("      topic_id: qWzR-1\n", "", "topic_id"),
        ("why: ticket 4711", "why: ''", "why"),
    ],
)
def test_a_patch_that_cannot_be_is_refused(bench: Bench, old: str, new: str, said: str) -> None:
    assert old in PATCH
    declare(bench, PATCH.replace(old, new))
    faults = bench.scan().faults
    assert faults
    assert all(fault.file == TOPIC_FILE for fault in faults)
    assert any(said in f"{fault.where} {fault}" for fault in faults), faults


places = st.sets(st.tuples(st.sampled_from(["id-1", "id-2"]), st.integers(0, 3), st.integers(0, 20)), min_size=1)


@given(places=places, why=st.text(min_size=1).filter(str.strip), pattern=st.text(min_size=1), by=st.text())
def test_what_a_case_proposes_is_what_a_spec_reads(
    places: set[tuple[str, int, int]], why: str, pattern: str, by: str
) -> None:
    event = CaseEvent(CaseState.OPEN, "ann", why, SystemClock().now())
    case = Case("c", "sales", "all", RecordPositions.of(places), {}, (event,))
    replacement = Replacement.model_construct(pattern=pattern, by=by)
    patches = patches_for(case, (replacement,))
    read = yaml.safe_load(declaration(patches))["patches"]
    assert [(each["why"], each["replace"]) for each in read] == [(why, [{"pattern": pattern, "by": by}])] * len(patches)
    harmless = {"replace": [{"pattern": "a", "by": "b"}]}
    found = [Patch.model_validate({**each, **harmless}).places for each in read]
    together = RecordPositions.joined(piece for each in found for piece in each.pieces())
    assert together == RecordPositions.of(places)
