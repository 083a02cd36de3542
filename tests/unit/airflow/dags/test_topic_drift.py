from __future__ import annotations

from sluice.airflow.dags.topic_drift import MAX_TOPICS, THE_REST, proof_of, to_report
from sluice.provisioning.plans.changes import Kept
from sluice.provisioning.plans.plan import Plan
from sluice.specs.model.alerting import AlertClass


def drifted(count: int) -> dict[str, tuple[str, ...]]:
    return {f"t{n:04}": ("partitions is 1, declared 2", "x is 1, declared 2") for n in range(count)}


def test_each_topic_tells_its_own_differences() -> None:
    assert to_report(drifted(1)) == [
        {
            "topic": "t0000",
            "subject": "topic t0000",
            "differences": "t0000 is not as declared: partitions is 1, declared 2; x is 1, declared 2.",
        }
    ]
    assert to_report({}) == []


def test_very_many_topics_are_told_by_a_bounded_number_of_tasks() -> None:
    assert [each["topic"] for each in to_report(drifted(MAX_TOPICS))] == list(drifted(MAX_TOPICS))

    told = to_report(drifted(MAX_TOPICS + 1))

    assert len(told) == MAX_TOPICS
    assert (told[-1]["topic"], told[-1]["subject"]) == ("2 more", THE_REST)
    assert told[-1]["differences"].startswith("t0099, t0100 are not as declared")


def test_a_plan_ends_what_it_has_judged_and_finds_as_declared() -> None:
    away = Kept("sales", "placement", "broker 3 holds replicas and cannot be seen", "so it is not judged, and stays")
    proof = proof_of(Plan(kept=(away, Kept("weather", "x", "1"))), {"topic flights"})
    over = {each: proof((f"topic {each}", AlertClass.DRIFT)) is not None for each in ("flights", "sales", "weather")}
    assert over == {"flights": False, "sales": False, "weather": True}
