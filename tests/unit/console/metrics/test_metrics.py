"""The metrics that are served, read by the library's own parser."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from sluice.console.metrics.catalogue import CATALOGUE, MetricType
from sluice.streams.health.health import Health
from tests.twins.clock import ManualClock
from tests.twins.console_fleet import CLOSED_UNTIL, HALTED, LAGGING, RESTING, STALLED, UNSEEN, pipeline_of, unit_of
from tests.unit.console.conftest import UNITS, FakeVisitor

Console = Callable[[FakeVisitor | None], TestClient]
Labels = dict[str, str]


def served(client: TestClient) -> dict[str, list[tuple[Labels, float]]]:
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found: dict[str, list[tuple[Labels, float]]] = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def test_what_is_served_is_in_the_catalogue_with_its_labels(console: Console) -> None:
    found, by_name = served(console(FakeVisitor())), {metric.name: metric for metric in CATALOGUE}
    assert found.keys() <= by_name.keys()
    for name, samples in found.items():
        assert {frozenset(labels) for labels, _ in samples} == {frozenset(by_name[name].labels)}, name
    unknown = {name for name in by_name if name not in found}
    assert unknown == {
        "sluice_stream_catch_up_seconds",
        "sluice_stream_loss_seconds",
        "sluice_quality_passed",
        "sluice_quality_checked_timestamp_seconds",
        "sluice_topic_differences",
        "sluice_topics_last_compared_timestamp_seconds",
        "sluice_unit_next_start_timestamp_seconds",
    }
    assert {by_name[name].kind for name in found} == {*MetricType}


def test_each_stream_has_one_verdict(console: Console) -> None:
    found = served(console(FakeVisitor()))
    of: dict[str, list[str]] = {}
    for labels, value in found["sluice_stream_health"]:
        if value:
            of.setdefault(labels["stream"], []).append(labels["health"])
    assert len(of) == 2 * UNITS
    assert len(found["sluice_stream_health"]) == 2 * UNITS * len(Health)
    assert {of[pipeline_of(n)][0] for n in (HALTED, RESTING)} == {"STOPPED"}
    assert (of[pipeline_of(STALLED)], of[pipeline_of(UNSEEN)]) == (["STALLED"], ["UNKNOWN"])
    needing = {labels["stream"] for labels, value in found["sluice_stream_needs_attention"] if value}
    assert {n for n in range(UNITS) if pipeline_of(n) in needing} == {HALTED, STALLED, LAGGING, UNSEEN}


def test_values_are_those_on_record(console: Console, clock: ManualClock) -> None:
    found = served(console(FakeVisitor()))

    def value(name: str, **wanted: str) -> float:
        (one,) = [value for labels, value in found[name] if wanted.items() <= labels.items()]
        return one

    assert value("sluice_stream_lag_records", stream=pipeline_of(LAGGING)) == 2000
    assert value("sluice_unit_halted", unit=unit_of(HALTED)) == 1
    assert value("sluice_unit_should_run", unit=unit_of(RESTING)) == 0
    assert value("sluice_unit_attempts_total", unit=unit_of(5)) == 2
    assert value("sluice_stream_read_records_total", stream=pipeline_of(5)) == 90
    assert value("sluice_unit_cpu_seconds_total", unit=unit_of(5)) == 20.2
    assert value("sluice_unit_jvm_heap_max_bytes", unit=unit_of(5)) == 7e8
    assert 3e8 < value("sluice_unit_jvm_heap_used_bytes", unit=unit_of(5)) < 3e8 + 2 * UNITS
    assert value("sluice_unit_jvm_gc_seconds_total", unit=unit_of(5)) == 1.5
    assert value("sluice_unit_jvm_threads", unit=unit_of(5)) == 80
    assert value("sluice_pipeline_day_cpu_seconds", pipeline=pipeline_of(5), work="driver") == 20.2
    assert value("sluice_pipeline_day_cpu_seconds", pipeline=pipeline_of(5), work="backfill") == 7.5
    assert value("sluice_intervals", pipeline=pipeline_of(0), state="dirty") == 44
    closed_until = value("sluice_intervals_closed_until_timestamp_seconds", pipeline=pipeline_of(3))
    assert closed_until == CLOSED_UNTIL.timestamp()
    assert value("sluice_quarantine_cases", pipeline=pipeline_of(0), state="open") == 1
    assert value("sluice_alerts_total", outcome="failed") == 2
    stale: Labels = {"pipeline": pipeline_of(STALLED), "output": pipeline_of(STALLED)}
    assert value("sluice_burn_rate", window="1h", **stale) > 14.4
    assert value("sluice_error_budget_remaining_ratio", **stale) < 0
    assert value("sluice_objective_ratio", **stale) < value("sluice_objective_target_ratio", **stale) == 0.999
    good: Labels = {"pipeline": pipeline_of(5), "output": pipeline_of(5)}
    assert value("sluice_objective_ratio", **good) == value("sluice_error_budget_remaining_ratio", **good) == 1
    assert value("sluice_objective_unknown_seconds", **good) == (30 * 24 * 60 - 119) * 60
    unseen = value("sluice_stream_last_observed_timestamp_seconds", stream=pipeline_of(UNSEEN))
    assert unseen == (clock.now() - timedelta(hours=1)).timestamp()


def test_a_scrape_sees_what_its_user_may_see(console: Console) -> None:
    found = served(console(FakeVisitor(sees=(unit_of(5), pipeline_of(5)))))
    seen = {value for samples in found.values() for labels, _ in samples for value in labels.values()}
    assert unit_of(5) in seen
    assert not {unit_of(n) for n in range(UNITS) if n != 5} & seen
    assert not {pipeline_of(n) for n in range(UNITS) if n != 5} & seen
