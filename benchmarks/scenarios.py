"""Every example over its simulator, drained by one driver: rows that differ from its oracle, rates, detection, alerts.

`alert_p95_s` is how long it takes from a payment in the topic to its alert at the bank's webhook.
"""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd

from benchmarks.alert_trial import seconds_to_alert
from benchmarks.trials import run_counted
from sluice.cli.scaffold.examples import example_names, examples_folder
from tests.integration.brokers import own_broker_in
from tests.scenarios import fraud, logs, scoring
from tests.scenarios.detection import detection
from tests.scenarios.example_place import scenario, values_in
from tests.shapes.oracle import differences

_SEEDS = (9001, 9002, 9003)
_DETECTORS = ((fraud, "judged_payments"), (logs, "service_anomalies"), (scoring, "score_quality"))
_SECONDS = 900.0


def run(*names: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `scenarios`, `wrong_rows`, `precision` and `recall` (the lowest), the rates, and how long alerts take."""
    with tempfile.TemporaryDirectory(prefix="sluice-alerts-") as root:
        took = sorted(seconds_to_alert(Path(root)))
    drained = {name: _drained(name) for name in names or example_names(examples_folder())}
    found = [detection(oracle, table, seed) for oracle, table in _DETECTORS for seed in _SEEDS]
    figures = {
        "scenarios": len(drained),
        "wrong_rows": sum(each["wrong_rows"] for each in drained.values()),
        "precision": round(min(each["precision"] for each in found), 3),
        "recall": round(min(each["recall"] for each in found), 3),
        "alert_p95_s": round(took[int(0.95 * len(took))], 2),
        "records_per_s": {name: each["records_per_s"] for name, each in drained.items()},
    }
    alerts = {"count": len(took), "median_s": round(median(took), 2), "max_s": round(took[-1], 2)}
    return figures, {"examples": drained, "seeds": _SEEDS, "alerts": alerts}


def _drained(name: str) -> dict[str, Any]:
    """Drain an example by a driver that starts for it, and compare its settled tables."""
    with tempfile.TemporaryDirectory(prefix="sluice-scenario-") as root:
        with own_broker_in(Path(root) / "broker") as broker:
            place = scenario(name, Path(root), broker)
            cost = run_counted(place.draining(), place.environment(), timeout=_SECONDS)
            if any(pipeline.tables for pipeline in place.project().catalog.pipelines.values()):
                place.run(generation=2)  # tables over settled tables, which were not there when the first one started
            sent = {topic: values_in(topic, broker) for topic in place.project().catalog.topics}
        oracle = importlib.import_module(f"tests.scenarios.{name}")
        wrong, rows = 0, 0
        for table, wanted in oracle.tables(sent, place.home).items():
            at = place.project().catalog.pipelines[table].intervals.time_column
            settled = wanted[wanted[at] < pd.Timestamp(place.project().tables.ledger(table).closed_until)]
            wrong += len(differences(table, oracle.comparable(place.table(table)), settled))
            rows += len(settled)
    records = sum(map(len, sent.values()))
    return {
        "records": records,
        "rows": rows,
        "wrong_rows": wrong,
        "records_per_s": round(records / cost.wall),
        "wall_s": round(cost.wall, 1),
        "cpu_s": round(cost.cpu, 1),
    }
