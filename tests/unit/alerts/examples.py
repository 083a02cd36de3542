"""Alerts to work with, and any alert that there can be."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import AlertHistory, Delivery, DeliveryOutcome

NOW = datetime(2026, 11, 5, 10, 0, tzinfo=UTC)


def make_alert(name: str = "a1", **fields: Any) -> Alert:  # noqa: ANN401 - those of Alert
    values: dict[str, Any] = {
        "id": name,
        "at": NOW,
        "level": Level.TASK,
        "what": "Task apply of DAG topics failed",
        "why": "flights: partitions is 2, declared 4.",
        "evidence": ("owner: data-platform", "report: report.json"),
        "where": "http://airflow/dags/topics/runs/r1",
        "what_to_do": "declare 2, or grow the topic.",
        "dag_id": "topics",
        "run_id": "r1",
        "clearing": 0,
        "task_id": "apply",
        "try_number": 1,
        "host": "vm",
    }
    return Alert(**{**values, **fields})


def history_of(*alerts: Alert, **outcomes: DeliveryOutcome) -> AlertHistory:
    """Return a history; `outcomes` are by alert id."""
    return AlertHistory(alerts, {name: Delivery(name, NOW, outcome) for name, outcome in outcomes.items()})


def any_alert() -> st.SearchStrategy[Alert]:
    text = st.text(max_size=40)
    return st.builds(
        Alert,
        id=st.from_regex(r"[0-9a-f]{8}", fullmatch=True),
        at=st.datetimes(min_value=datetime(2000, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - hypothesis adds the zone
        level=st.sampled_from(Level),
        what=text,
        why=text,
        evidence=st.lists(text, max_size=4).map(tuple),
        where=text,
        what_to_do=text,
        dag_id=text,
        run_id=text,
        clearing=st.none() | st.integers(0, 9),
        task_id=st.none() | text,
        try_number=st.none() | st.integers(1, 9),
        host=text,
        subject=text,
    )
