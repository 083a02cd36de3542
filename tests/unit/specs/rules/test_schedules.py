"""What `sluice check` says of drivers that do not run all the time."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from sluice.specs.model.schedule import ALL_THE_TIME, RunPlan
from tests.unit.specs.bench import PIPELINE, PIPELINE_FILE, TOPIC_FILE, TRANSFORM, TRANSFORM_FILE, Bench, sound_project

OTHER_FILE = "include/pipelines/more.yaml"


@pytest.fixture
def project(tmp_path: Path) -> Bench:
    return sound_project(tmp_path / "project")


def say(project: Bench, line: str, file: str = PIPELINE_FILE, before: str = "driver: shop\n") -> None:
    project.edit(file, before, f"{line}\n{before}")


def faults(project: Bench) -> list[str]:
    return [str(fault) for fault in project.scan().faults]


def only(project: Bench) -> str:
    (fault,) = faults(project)
    return fault


def second(project: Bench, more: str = "") -> None:
    text = PIPELINE.replace("sales", "more").replace("driver: shop\n", f"driver: shop\n{more}")
    project.write(OTHER_FILE, text)
    project.write(TRANSFORM_FILE.replace("sales", "more"), TRANSFORM.replace("def sales", "def more"))


@pytest.mark.parametrize(
    ("lines", "plan"),
    [
        ("schedule: 1 hour", RunPlan("0 * * * *")),
        ('schedule: "@daily"', RunPlan("0 0 * * *")),
        ("stop_when_idle: 30 minutes", RunPlan(None, timedelta(minutes=30))),
        ("schedule: 0 8 * * *\nstop_when_idle: 2 hours", RunPlan("0 8 * * *", timedelta(hours=2))),
    ],
)
def test_a_pipeline_says_when_its_driver_runs_and_its_raw_stream_goes_with_it(
    project: Bench, lines: str, plan: RunPlan
) -> None:
    say(project, lines)
    scan = project.scan()
    assert scan.faults == ()
    unit = scan.catalog.units()["shop"]
    assert (unit.plan, unit.topics, unit.pipelines) == (plan, ("orders",), ("sales",))
    assert scan.catalog.run_plan("elsewhere") == ALL_THE_TIME


def test_a_driver_of_raw_streams_alone_takes_what_they_say(project: Bench) -> None:
    project.edit(TOPIC_FILE, "driver: shop", "driver: raw\n  stop_when_idle: 1 hour")
    scan = project.scan()
    assert scan.faults == ()
    assert scan.catalog.run_plan("raw") == RunPlan(None, timedelta(hours=1))
    assert scan.catalog.run_plan("shop") == ALL_THE_TIME


def test_pipelines_of_one_driver_say_the_same(project: Bench) -> None:
    say(project, "schedule: 1 hour")
    second(project, "schedule: 1 hour\n")
    assert faults(project) == []
    second(project)
    assert "schedule differs from that of the pipeline more, which names the same driver" in only(project)


def test_a_raw_stream_does_not_contradict_its_driver(project: Bench) -> None:
    project.edit(TOPIC_FILE, "driver: shop", "driver: shop\n  schedule: 1 hour")
    found = only(project)
    assert "orders.yaml:19" in found
    assert "schedule differs from what else names the driver shop says" in found
    say(project, "schedule: 1 hour")
    assert faults(project) == []


REFUSED = {
    "trigger": ("schedule: 1 hour\ntrigger: 5 s", "ends has no time between batches"),
    "a deadline": ("schedule: 1 hour\ndeadlines: {lag: 10 minutes}", "records wait for up to 1 hour"),
    "retention": ('schedule: "@weekly"', "the topic orders keeps records for 7 days"),
    "too often": ("schedule: 1 minute", "starts a driver every 1 minute"),
    "nonsense": ("schedule: hourly", "'hourly' is no schedule"),
    "a short rest": ("stop_when_idle: 10 s", "10 seconds is shorter than 5 minutes"),
}


@pytest.mark.parametrize(("lines", "says"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_kept_is_refused(project: Bench, lines: str, says: str) -> None:
    say(project, lines)
    found = faults(project)
    assert any(says in fault for fault in found), found
    assert all("fix" in fault.lower() or ":" in fault for fault in found)


@pytest.mark.parametrize("line", ["schedule: 1 hour", "stop_when_idle: 1 hour"])
def test_records_that_are_handed_on_as_they_come_do_not_wait(project: Bench, line: str) -> None:
    output = "outputs:\n- {kind: topic, topic: large, keys: [id], create: {partitions: 2}}\n"
    text = PIPELINE.replace(PIPELINE[PIPELINE.index("output:") : PIPELINE.index("driver:")], output)
    text = text.replace("driver: shop", f"lane: realtime\n{line}\ndriver: quick")
    project.write(PIPELINE_FILE, text.replace('spark:\n  spark.sql.shuffle.partitions: "4"\n', ""))
    found = [fault for fault in faults(project) if "in the lane realtime" in fault]
    assert len(found) == 1, faults(project)
    assert "take another lane" in found[0]


def test_rows_of_what_is_open_are_not_kept_by_a_schedule(project: Bench) -> None:
    intervals = PIPELINE[PIPELINE.index("output:") : PIPELINE.index("driver:")]
    outputs = (
        "outputs:\n- {kind: intervals, table: sales, time_column: hour, window: 1 hour, interval: hour}\n"
        "- {kind: latest, table: now, keys: [hour], keep: open}\n"
    )
    project.write(PIPELINE_FILE, PIPELINE.replace(intervals, outputs))
    assert faults(project) == []
    say(project, "schedule: 1 hour")
    found = only(project)
    assert "by a schedule they would show what was at its last run" in found
    assert "write `keep: all`" in found


def test_an_interval_table_needs_a_raw_table_that_is_filled_meanwhile(project: Bench) -> None:
    project.edit(TOPIC_FILE, "driver: shop", "driver: raw\n  schedule: 1 hour")
    found = only(project)
    assert "sales.yaml" in found
    assert "which the driver raw fills by a schedule" in found
