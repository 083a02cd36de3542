from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from sluice.feeds.order import late_records
from sluice.feeds.record import FeedRecord
from sluice.specs.model.sources import TimeRules
from tests.twins.feed_source import NOON, ListSource, make_record

RULES = TimeRules(allowed_lateness=timedelta(hours=3), future_skew=timedelta(hours=1))  # delay: 4 hours

feeds = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 600), st.integers(-60, 400)), min_size=1, max_size=30).map(
    lambda found: ListSource([make_record(i, *row) for i, row in enumerate(found)])
)


def all_of(source: ListSource) -> list[FeedRecord]:
    return list(source.find(range(10_000)))


def test_a_record_behind_the_watermark_is_overtaken_and_names_the_pipeline() -> None:
    record = make_record(1, day=0, minute=0)
    assert list(late_records([record], NOON + timedelta(hours=4, seconds=1), {"p": RULES})) == [(record, "p")]
    assert not list(late_records([record], NOON + timedelta(hours=4), {"p": RULES}))


def test_a_record_that_arrives_after_the_watermark_may_still_be_overtaken() -> None:
    watermark = NOON + timedelta(hours=1)
    record = make_record(1, day=0, minute=0, delay_minutes=120)
    assert list(late_records([record], watermark + RULES.delay, {"p": RULES})) == [(record, "p")]


def test_a_record_that_is_late_by_itself_is_not_overtaken() -> None:
    record = make_record(1, day=0, minute=0, delay_minutes=181)
    assert not list(late_records([record], NOON + timedelta(days=2), {"p": RULES}))


def test_a_topic_that_no_pipeline_reads_is_never_too_late() -> None:
    assert not list(late_records([make_record(1, 0, 0)], NOON + timedelta(days=99), {}))


@given(feeds, st.integers(0, 5000))
def test_looking_only_as_far_as_needed_finds_the_same_as_checking_all(source: ListSource, minute: int) -> None:
    latest: datetime = NOON + timedelta(minutes=minute)
    records = all_of(source)
    expected = [r for r in records if r.arrival - r.event <= RULES.allowed_lateness and r.event < latest - RULES.delay]
    assert [record for record, _ in late_records(records, latest, {"p": RULES})] == expected


@given(feeds, st.data())
def test_what_is_left_of_an_interrupted_feed_is_never_too_late(source: ListSource, data: st.DataObject) -> None:
    records = all_of(source)
    sent = data.draw(st.integers(1, len(records)))
    latest = max(record.event for record in records[:sent])
    assert not list(late_records(records[sent:], latest, {"p": RULES}))
