from __future__ import annotations

from sluice.airflow.dags.topic_drift import MAX_TOPICS, THE_REST, to_report


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
