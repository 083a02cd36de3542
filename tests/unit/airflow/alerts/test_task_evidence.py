from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from sluice.airflow.alerts.alerting import task_facts
from sluice.airflow.links import DriverLogLink, SparkUiLink
from sluice.settings import StateFolder

FOLDER = StateFolder(Path("state"))


def test_the_pages_of_a_watch_are_evidence() -> None:
    watch = SimpleNamespace(unit="flights", operator_extra_links=(SparkUiLink(), DriverLogLink()))

    ui, log = task_facts(watch, FOLDER)

    assert ui.startswith("Spark UI: ")
    assert ui.endswith("/sluice/units/flights/spark-ui")
    assert log.endswith("/sluice/units/flights/log")


def test_a_backfill_says_where_its_reports_are() -> None:
    assert list(task_facts(SimpleNamespace(backfill_id="b1"), FOLDER)) == ["reports of backfill b1: state/backfills/b1"]
    assert list(task_facts(SimpleNamespace(backfill_id=None), FOLDER)) == []


def test_a_link_of_somebody_else_is_not_asked() -> None:
    class Foreign:
        name = "Triggered run"

        def get_link(self, *_: object, **__: object) -> str:
            raise AssertionError("asked")

    Foreign.__module__ = "airflow.providers.standard.operators.trigger_dagrun"

    assert list(task_facts(SimpleNamespace(operator_extra_links=(Foreign(),)), FOLDER)) == []
