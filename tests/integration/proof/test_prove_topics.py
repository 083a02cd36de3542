"""Pipelines over two topics are proven with a real broker and real drivers: each topic by its own records."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.proof.findings import ProofFault, ProofVerdict
from sluice.proof.generation.made import RecordFate
from sluice.proof.running.faults import RequestedFault
from tests.integration.proof.proven_projects import proven
from tests.proof_projects import COUNTED, JOINED, UNITED, two_topics

pytestmark = [pytest.mark.verify, pytest.mark.timeout(900)]
RAW = ("ads_shown_raw", "ads_clicked_raw")


def test_rows_of_a_union_are_proven_though_the_driver_is_killed(broker: BrokerProcess, tmp_path: Path) -> None:
    home = two_topics(tmp_path / "home")
    shown = proven(home, UNITED, broker, tmp_path / "state", faults=(RequestedFault.KILL_DRIVER,))
    assert (shown.proof.verdict, shown.proof.findings) == (ProofVerdict.PROVEN, ())
    assert shown.covered[:3] == (*RAW, "events")
    assert shown.uncovered == ()
    of_topics = Counter(sent.topic for sent in shown.journal)
    assert len(of_topics) == 2
    assert max(of_topics.values()) - min(of_topics.values()) <= 1
    good = sum(sent.fate is RecordFate.GOOD for sent in shown.journal)
    rows = {output.name: output for output in shown.seen.rows}
    assert len(rows["events"].seen) == good > 150
    assert {row.topic for row in rows["events"].expected} == of_topics.keys()
    assert all(row.made_of is not None for row in rows["events"].expected)
    letters = shown.seen.outputs[-1]
    refused = sum(sent.fate is RecordFate.QUARANTINED for sent in shown.journal)
    assert len(letters.records) == refused >= 4
    assert {shown.journal.by_id[each.id].topic for each in letters.records} == of_topics.keys()
    (fault,) = shown.seen.faults
    assert fault.healed


def test_intervals_of_a_join_with_a_static_input_are_proven(broker: BrokerProcess, tmp_path: Path) -> None:
    shown = proven(two_topics(tmp_path / "home"), JOINED, broker, tmp_path / "state")
    assert (shown.proof.verdict, shown.proof.findings) == (ProofVerdict.PROVEN, ())
    assert shown.covered == (*RAW, "clicks_joined")
    assert sum(interval.is_equal is True for interval in shown.seen.intervals) >= 6
    assert [output.topic for output in shown.seen.outputs] == sorted(shown.seen.ends, reverse=True)


def test_hours_of_two_topics_and_their_open_values_are_proven(broker: BrokerProcess, tmp_path: Path) -> None:
    home = two_topics(tmp_path / "home")
    shown = proven(home, COUNTED, broker, tmp_path / "state", faults=(RequestedFault.LOSE_CHECKPOINT,))
    assert (shown.proof.verdict, shown.proof.findings) == (ProofVerdict.PROVEN, ())
    live = next(output for output in shown.seen.rows if output.name == "event_hours_live")
    assert live.expected  # some hours were still open
    assert {"shown", "clicked"} <= {what for row in live.expected for what in ("shown", "clicked") if what in row.key}


def test_an_outcome_that_differs_from_call_to_call_is_convicted_in_a_union(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    home = two_topics(tmp_path / "home")
    query = home / f"spark_jobs/transforms/{UNITED}.sql"
    query.unlink()
    (home / "spark_jobs/transforms/united.py").write_text(_DICE, encoding="utf-8")
    spec = home / f"include/pipelines/{UNITED}.yaml"
    text = spec.read_text(encoding="utf-8")
    spec.write_text(text.replace('"united.sql"', '"united:united"'), encoding="utf-8")
    shown = proven(home, UNITED, broker, tmp_path / "state")
    assert shown.proof.verdict is ProofVerdict.BROKEN
    found = {(finding.fault, finding.where) for finding in shown.proof.findings}
    assert (ProofFault.LOST, "events") in found
    assert (ProofFault.PHANTOM, "events") in found
    assert not {where for _, where in found} & {*RAW, "validation"}


_DICE = '''"""Events of both topics, with a number that is drawn."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def united(shown: DataFrame, clicked: DataFrame) -> DataFrame:
    """Return all events."""
    dice = getattr(F, "".join(("ra", "nd")))  # spelt out, `sluice check` refuses it
    one = shown.select(F.col("shown_at").alias("at"), "impression", F.lit("shown").alias("what"))
    other = clicked.select(F.col("clicked_at").alias("at"), "impression", F.lit("clicked").alias("what"))
    return one.unionByName(other).withColumn("cost", dice())
'''
