from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.code.closure import meaning
from sluice.specs.load import load_catalog
from sluice.specs.model.deadlines import DeclaredShare, Objective, StreamDeadlines, format_share, parse_share

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


@pytest.mark.parametrize("text", ["99.9 %", "99.9%", " 99.90  % "])
def test_a_share_alone_is_an_objective_over_thirty_days_of_what_is_fresh_and_correct(text: str) -> None:
    found = TypeAdapter(DeclaredShare).validate_python(text)
    assert found == Objective(share=Decimal("99.9"), window=timedelta(days=30), counts="both")
    assert found is not None
    assert found.allowed == 0.001
    assert found.model_dump(mode="json") == {"share": "99.9 %", "window": "30 days", "counts": "both"}


@pytest.mark.parametrize(
    ("share", "why"),
    [
        (99.9, "99.9 is not a share; write a percentage such as '99.9 %'"),
        ("0.999", "'0.999' is not a share"),
        ("-1 %", "'-1 %' is not a share"),
        ("99,9 %", "'99,9 %' is not a share"),
        ("99.99999 %", "'99.99999 %' is not a share"),
        ("100 %", "'100 %' leaves no error budget"),
        ("999 %", "'999 %' leaves no error budget"),
        ("49.9 %", "'49.9 %' lets most of the time be bad"),
        (True, "True is not a share"),
    ],
)
def test_what_is_no_share_is_refused_with_what_to_write(share: object, why: str) -> None:
    for value in (share, {"share": share}):
        with pytest.raises(ValidationError, match=re.escape(why)):
            TypeAdapter(DeclaredShare).validate_python(value)


@pytest.mark.parametrize(
    "more", [{"window": "6 days"}, {"window": "32 days"}, {"counts": "all"}, {"goal": 1}, {"share": None}]
)
def test_a_window_that_is_not_kept_and_a_count_of_nothing_are_refused(more: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Objective.model_validate({"share": "99 %", **more})


@given(st.decimals(min_value=50, max_value=Decimal("99.9999"), places=4))
def test_every_share_is_read_as_it_is_written(share: Decimal) -> None:
    assert parse_share(format_share(share)) == share


def test_an_objective_changes_no_result() -> None:
    catalog = project()
    pipeline = catalog.pipelines["departures"]
    promise = {"objective": Objective(share=Decimal("99.9"))}
    outputs = tuple(output.model_copy(update=promise) for output in pipeline.outputs)
    promised = pipeline.model_copy(update={**promise, "outputs": outputs})
    assert meaning(promised, catalog.topics) == meaning(pipeline, catalog.topics)
