from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import ValidationError

from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.code.closure import meaning
from sluice.specs.load import load_catalog
from sluice.specs.model.deadlines import StreamDeadlines

PROMISED = StreamDeadlines(lag=timedelta(minutes=10))


def project() -> Catalog:
    return load_catalog(settings().home / "include")


def test_only_loss_and_reminders_are_declared_by_default() -> None:
    declared = {key: value for key, value in StreamDeadlines() if value is not None}
    assert declared == {"loss_risk": timedelta(hours=1), "remind": timedelta(days=1)}


@pytest.mark.parametrize("key", ["lag", "age", "idle", "loss_risk", "remind"])
def test_a_deadline_is_a_duration_that_can_be_watched_or_null(key: str) -> None:
    assert getattr(StreamDeadlines.model_validate({key: "1 min"}), key) == timedelta(minutes=1)
    assert getattr(StreamDeadlines.model_validate({key: None}), key) is None
    with pytest.raises(ValidationError, match="59 seconds is shorter than 1 minute"):
        StreamDeadlines.model_validate({key: "59s"})


def test_at_least_one_record_may_be_unread() -> None:
    with pytest.raises(ValidationError):
        StreamDeadlines(lag_records=0)


def test_a_pipelines_deadlines_are_of_all_its_streams_and_a_raw_stream_has_its_topics() -> None:
    catalog = project()
    pipeline = catalog.pipelines["departures"].model_copy(update={"deadlines": PROMISED})
    topic = catalog.topics["flights"]
    raw = topic.raw.model_copy(update={"deadlines": StreamDeadlines(idle=timedelta(hours=6))})
    catalog = Catalog(
        topics={"flights": topic.model_copy(update={"raw": raw})},
        pipelines={"departures": pipeline},
    )
    assert [catalog.deadlines_of(stream) for stream in ("departures", "departures_live")] == [PROMISED, PROMISED]
    assert catalog.deadlines_of("raw_flights") == raw.deadlines
    assert catalog.deadlines_of("of_long_ago") == StreamDeadlines()


def test_a_promise_changes_no_result() -> None:
    catalog = project()
    pipeline, topics = catalog.pipelines["departures"], {"flights": catalog.topics["flights"]}
    assert meaning(pipeline.model_copy(update={"deadlines": PROMISED}), topics) == meaning(pipeline, topics)
