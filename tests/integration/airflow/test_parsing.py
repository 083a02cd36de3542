"""What Airflow finds when it parses `dags/`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sluice.airflow.auditing import ACTING_TASKS
from sluice.airflow.dags.conventions import Tag
from tests.editing import copy_project

PROJECT = Path(__file__).parents[3]
DEADLINE_SECONDS = 120


@dataclass(frozen=True)
class Parsed:
    """What `parse_dags.py` found."""

    dags: dict[str, Any]
    errors: dict[str, str]
    forbidden: list[str]
    parse_seconds: list[float]


def parse(folder: Path, *, home: Path = PROJECT, dags: Path = PROJECT / "dags", **environment: str) -> Parsed:
    result = folder / "parsed.json"
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("parse_dags.py")), str(dags), str(result)],
        env={**os.environ, "SLUICE_HOME": str(home), "SLUICE_STATE": str(folder / "state"), **environment},
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return Parsed(**json.loads(result.read_text(encoding="utf-8")))


def copy_of_the_project(folder: Path) -> Path:
    copy_project(folder)
    return folder


def edit(file: Path, text: str, other: str) -> None:
    before = file.read_text(encoding="utf-8")
    assert text in before
    file.write_text(before.replace(text, other), encoding="utf-8")


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Parsed:
    return parse(tmp_path_factory.mktemp("shipped"))


@pytest.fixture(scope="module")
def with_a_broken_pipeline(tmp_path_factory: pytest.TempPathFactory) -> Parsed:
    """`departures` shares the driver `flights` and is broken; `arrivals` is a sound pipeline with its own driver."""
    home = copy_of_the_project(tmp_path_factory.mktemp("broken"))
    pipelines = home / "include" / "pipelines"
    shutil.copy(pipelines / "departures.yaml", pipelines / "arrivals.yaml")
    edit(pipelines / "arrivals.yaml", "name: departures", "name: arrivals")
    edit(pipelines / "arrivals.yaml", "table: departures", "table: arrivals")
    edit(pipelines / "arrivals.yaml", "driver: flights", "driver: arrivals")
    edit(pipelines / "departures.yaml", "source: flights", "source: fligths")
    return parse(home, home=home)


@pytest.fixture(scope="module")
def with_a_mirror(tmp_path_factory: pytest.TempPathFactory) -> Parsed:
    """The shipped project, which copies its flights into the brokers of `compose`."""
    home = copy_of_the_project(tmp_path_factory.mktemp("mirror"))
    (home / "include" / "mirrors").mkdir()
    spec = "name: standby\nsource: local\ntarget: compose\ntopics: [flights]\n"
    (home / "include" / "mirrors" / "standby.yaml").write_text(spec)
    return parse(home, home=home)


def test_a_mirror_adds_its_own_dag_and_one_for_all(shipped: Parsed, with_a_mirror: Parsed) -> None:
    added = set(with_a_mirror.dags) - set(shipped.dags)
    assert {dag_id: with_a_mirror.dags[dag_id]["file"] for dag_id in added} == {
        "keep_mirrors": "mirrors.py",
        "mirror_standby": "mirrors.py",
    }
    assert (with_a_mirror.errors, with_a_mirror.forbidden) == ({}, [])
    assert all(with_a_mirror.dags[dag_id]["alerts"] for dag_id in added)


def test_the_shipped_project_has_these_dags_and_no_import_error(shipped: Parsed) -> None:
    assert sorted(shipped.dags) == [
        "backfill_departures",
        "compact_tables",
        "keep_ledger",
        "lift_throttles",
        "prove_weekly",
        "quality_departures",
        "reconcile_streams",
        "remove_old_records",
        "repair_intervals",
        "replay_case",
        "stream_flights",
        "topic_drift",
        "topics",
    ]
    assert shipped.errors == {}


def test_parsing_imports_neither_spark_nor_kafka_nor_the_control_database(shipped: Parsed) -> None:
    assert shipped.forbidden == []


def test_each_dag_belongs_to_its_file(shipped: Parsed) -> None:
    files = {dag_id: dag["file"] for dag_id, dag in shipped.dags.items()}

    assert files == {
        "backfill_departures": "backfills.py",
        "compact_tables": "upkeep.py",
        "keep_ledger": "upkeep.py",
        "lift_throttles": "upkeep.py",
        "prove_weekly": "proofs.py",
        "quality_departures": "quality.py",
        "reconcile_streams": "upkeep.py",
        "remove_old_records": "upkeep.py",
        "repair_intervals": "upkeep.py",
        "replay_case": "quality.py",
        "stream_flights": "streams.py",
        "topic_drift": "topics.py",
        "topics": "topics.py",
    }


def test_a_streams_dag_claims_submits_and_watches(shipped: Parsed) -> None:
    tasks = {name: task["downstream"] for name, task in shipped.dags["stream_flights"]["tasks"].items()}

    assert tasks == {"claim": ["submit"], "submit": ["watch"], "watch": ["follow"], "follow": []}


def test_every_dag_is_governed(shipped: Parsed) -> None:
    tags = {tag.value for tag in Tag}
    for dag_id, dag in shipped.dags.items():
        assert dag["doc"], dag_id
        assert dag["description"], dag_id
        assert dag["owners"] not in {"", "airflow"}, dag_id
        assert set(dag["tags"]) <= tags, dag_id
        assert "sluice" in dag["tags"], dag_id
        assert dag["max_active_runs"], dag_id
        assert dag["paused"] is False, dag_id


def test_every_task_has_a_timeout_or_is_the_watch(shipped: Parsed) -> None:
    without = {
        (dag_id, task_id)
        for dag_id, dag in shipped.dags.items()
        for task_id, task in dag["tasks"].items()
        if task["timeout"] is None
    }

    assert without == {("stream_flights", "watch")}


def test_every_task_that_may_defer_is_retried(shipped: Parsed) -> None:
    assert shipped.dags["stream_flights"]["tasks"]["watch"]["retries"] >= 1
    assert shipped.dags["topics"]["tasks"]["follow"]["retries"] >= 1


def test_every_dag_and_every_task_alerts_when_it_fails(shipped: Parsed) -> None:
    silent = [dag_id for dag_id, dag in shipped.dags.items() if not dag["alerts"]]
    silent += [
        f"{dag_id}.{t}"
        for dag_id, dag in shipped.dags.items()
        for t, task in dag["tasks"].items()
        if not task["alerts"]
    ]

    assert silent == []


def test_every_param_has_a_title_and_a_description(shipped: Parsed) -> None:
    for dag_id, dag in shipped.dags.items():
        for name, schema in dag["params"].items():
            assert schema.get("title"), (dag_id, name)
            assert schema.get("description_md"), (dag_id, name)


def test_every_form_can_be_sent_as_it_is(shipped: Parsed) -> None:
    """Airflow's page sends no form in which a field that may not be null is empty."""
    empty = [
        (dag_id, name)
        for dag_id, dag in shipped.dags.items()
        for name, schema in dag["params"].items()
        if dag["defaults"][name] in (None, "") and "null" not in schema["type"]
    ]

    assert shipped.dags["backfill_departures"]["defaults"]["reason"] is None
    assert empty == []


def test_no_task_carries_a_copy_of_its_dags_form(shipped: Parsed) -> None:
    carried = {
        (dag_id, t): task["params"]
        for dag_id, dag in shipped.dags.items()
        for t, task in dag["tasks"].items()
        if task["params"]
    }

    assert shipped.dags["backfill_departures"]["params"]
    assert carried == {}


def test_every_task_says_what_it_does(shipped: Parsed) -> None:
    silent = [
        (dag_id, t) for dag_id, dag in shipped.dags.items() for t, task in dag["tasks"].items() if not task["doc"]
    ]

    assert silent == []


def test_the_owner_of_a_unit_is_who_its_pipelines_name(shipped: Parsed) -> None:
    assert shipped.dags["stream_flights"]["owners"] == "flight-operations"


LOOKING = {
    "stream": {"submit", "watch", "follow"},
    "backfill": {"plan", "report", "publish_asset"},
    "quality": {"check"},
    "topics": {"plan", "verify", "follow"},
    "topic_drift": {"compare", "drifted"},
    "reconcile_streams": {"decide", "trigger"},
    "repair_intervals": {"decide", "trigger"},
    "keep_ledger": {"keep", "index"},
    "keep_mirrors": {"look"},
    "prove_weekly": {"choose"},
}
"""What compares, watches and decides, or follows from a task that is in the audit log."""


def test_each_task_is_in_the_audit_log_or_only_looks(shipped: Parsed, with_a_mirror: Parsed) -> None:
    there = {
        (dag_id if dag_id in {*ACTING_TASKS, *LOOKING} else dag_id.partition("_")[0], task)
        for dag_id, dag in (shipped.dags | with_a_mirror.dags).items()
        for task in dag["tasks"]
    }
    acting = {(dag, task) for dag, tasks in ACTING_TASKS.items() for task in tasks}
    looking = {(dag, task) for dag, tasks in LOOKING.items() for task in tasks}
    assert not acting & looking
    assert there == acting | looking


def test_a_broken_spec_keeps_its_units_dag_with_the_same_tasks_and_shows_the_fault(
    shipped: Parsed, with_a_broken_pipeline: Parsed
) -> None:
    stub, sound = with_a_broken_pipeline.dags["stream_flights"], shipped.dags["stream_flights"]

    assert stub["tasks"] == sound["tasks"]
    assert stub["params"] == sound["params"]
    assert "broken-spec" in stub["tags"]
    assert "include/pipelines/departures.yaml:" in stub["doc"]
    assert "fligths" in stub["doc"]


def test_a_broken_spec_disturbs_no_other_dag(shipped: Parsed, with_a_broken_pipeline: Parsed) -> None:
    its_own = {"backfill_departures", "quality_departures"}
    arrivals = {"backfill_arrivals", "stream_arrivals"}

    assert set(with_a_broken_pipeline.dags) == set(shipped.dags) - its_own | arrivals
    assert "broken-spec" not in with_a_broken_pipeline.dags["stream_arrivals"]["tags"]


def test_a_broken_pipeline_has_no_backfill_that_could_be_scheduled(with_a_broken_pipeline: Parsed) -> None:
    assert "backfill_departures" not in with_a_broken_pipeline.dags
    assert "backfill_arrivals" in with_a_broken_pipeline.dags


def test_a_pipeline_without_a_suite_has_no_quality_dag(with_a_broken_pipeline: Parsed) -> None:
    assert "quality_arrivals" not in with_a_broken_pipeline.dags


def test_a_backfill_plans_runs_and_reports(shipped: Parsed) -> None:
    tasks = {name: task["downstream"] for name, task in shipped.dags["backfill_departures"]["tasks"].items()}

    assert tasks == {"plan": ["run"], "run": ["publish_asset", "report"], "report": [], "publish_asset": []}


def test_whatever_starts_spark_waits_in_the_pool_of_batches(shipped: Parsed) -> None:
    pools = {(dag_id, t): task["pool"] for dag_id, dag in shipped.dags.items() for t, task in dag["tasks"].items()}

    assert {where for where, pool in pools.items() if pool != "default_pool"} == {
        ("backfill_departures", "run"),
        ("quality_departures", "check"),
        ("replay_case", "replay"),
        ("prove_weekly", "prove"),
    }
    assert pools["backfill_departures", "run"] == pools["quality_departures", "check"] == "spark_batch"


def test_the_schedule_backfills_the_day_before(shipped: Parsed) -> None:
    schedule = shipped.dags["backfill_departures"]["schedule"]

    assert schedule["__type"].endswith(".CronPartitionTimetable")
    said = {"expression": "0 6 * * *", "timezone": "UTC", "run_offset": -1, "key_format": "%Y-%m-%d"}
    assert said.items() <= schedule["__var"].items()


@pytest.mark.verify
def test_a_pipeline_without_a_schedule_is_backfilled_only_when_asked(tmp_path: Path) -> None:
    home = copy_of_the_project(tmp_path)
    edit(home / "include" / "pipelines" / "departures.yaml", "trigger: 2 seconds", "backfill: {schedule: null}")

    parsed = parse(tmp_path, home=home, dags=PROJECT / "dags" / "backfills.py")

    assert "CronPartition" not in str(parsed.dags["backfill_departures"]["schedule"])


def test_all_faults_are_one_import_error_of_the_file_that_builds_nothing(tmp_path: Path) -> None:
    home = copy_of_the_project(tmp_path)
    edit(home / "include" / "pipelines" / "departures.yaml", "source: flights", "source: fligths")
    edit(home / "include" / "topics" / "flights.yaml", "partitions: 4", "partitions: many")

    parsed = parse(tmp_path, home=home)

    assert list(parsed.errors) == ["spec_errors.py"]
    assert "include/pipelines/departures.yaml:" in parsed.errors["spec_errors.py"]
    assert "include/topics/flights.yaml:" in parsed.errors["spec_errors.py"]


@pytest.mark.verify
def test_a_task_parses_its_own_dag_only(tmp_path: Path) -> None:
    home = copy_of_the_project(tmp_path)
    pipelines = home / "include" / "pipelines"
    shutil.copy(pipelines / "departures.yaml", pipelines / "arrivals.yaml")
    edit(pipelines / "arrivals.yaml", "name: departures", "name: arrivals")
    edit(pipelines / "arrivals.yaml", "table: departures", "table: arrivals")
    edit(pipelines / "arrivals.yaml", "driver: flights", "driver: arrivals")

    parsed = parse(
        tmp_path,
        home=home,
        dags=PROJECT / "dags" / "streams.py",
        _AIRFLOW_PARSING_CONTEXT_DAG_ID="stream_arrivals",
        _AIRFLOW_PARSING_CONTEXT_TASK_ID="claim",
    )

    assert list(parsed.dags) == ["stream_arrivals"]


def test_dag_files_are_thin() -> None:
    for file in (PROJECT / "dags").glob("*.py"):
        assert len(file.read_text(encoding="utf-8").splitlines()) < 30, file.name
