"""What a run of a quality DAG checks."""

from __future__ import annotations

from sluice.airflow.dags.quality import published_range


def test_a_run_checks_all_that_was_published_since_the_last_one() -> None:
    extras = [
        {"from": "2013-01-03T00:00:00+00:00", "to": "2013-01-04T00:00:00+00:00"},
        {"from": "2013-01-01T00:00:00+00:00", "to": "2013-01-02T00:00:00+00:00"},
    ]

    assert published_range(extras) == {"from": "2013-01-01T00:00:00+00:00", "to": "2013-01-04T00:00:00+00:00"}


def test_where_nobody_says_what_was_published_the_default_range_is_taken() -> None:
    assert published_range([]) == {}
    assert published_range([{}, {"by": "somebody, by hand"}]) == {}
