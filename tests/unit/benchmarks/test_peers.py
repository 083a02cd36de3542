"""What the trials of the peers come to, and what of it needs no broker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.draining import ads
from benchmarks.peers.figures import figures, newest, slopes
from benchmarks.peers.installs import fault_of
from benchmarks.peers.programs import RESULTS, write_projects
from sluice.errors import NotReadyError
from sluice.specs.load import load_catalog

SMALL, LARGE = 200_000, 2_200_000


def test_a_slope_is_what_a_million_records_cost_and_a_start_cancels() -> None:
    assert slopes({"full": {SMALL: [11.0, 10.0, 90.0], LARGE: [31.0]}}) == {"full": pytest.approx(10.0)}


def test_a_ratio_is_ours_by_theirs() -> None:
    trials = {
        "full": {SMALL: [10.0], LARGE: [30.0]},
        "lean": {SMALL: [10.0], LARGE: [20.0]},
        "flink": {SMALL: [12.0], LARGE: [52.0]},
    }
    assert figures(trials) == {"ratio_flink": 0.5, "ratio_flink_lean": 0.25, "events_per_s_core": 100_000}


def test_a_peer_that_is_not_there_has_no_figure() -> None:
    assert figures({"full": {SMALL: [1.0], LARGE: [3.0]}}) == {"events_per_s_core": 1_000_000}


def test_of_the_counts_of_a_window_the_newest_counts() -> None:
    moments = ("2026-01-01T00:00:00", "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:10Z")
    rows = [{"campaign": "c1", "began_at": at, "views": views} for views, at in enumerate(moments)]
    assert newest(rows)["views"].tolist() == [1, 2]


def test_no_rows_are_an_empty_table() -> None:
    assert list(newest([]).columns) == ["campaign", "began_at", "views"]


def test_the_lean_unit_has_one_live_output_and_reads_the_same_topic(tmp_path: Path) -> None:
    write_projects(tmp_path)
    catalog = load_catalog(tmp_path / "include")
    assert set(catalog.pipelines) == {"ads", "lean"}
    assert RESULTS in catalog.kafka_topics()
    lean = json.loads((tmp_path / "include" / "pipelines" / "lean.yaml").read_text())
    assert [output["kind"] for output in lean["outputs"]] == ["topic"]


def test_a_peer_that_cannot_be_installed_is_left_out_with_the_reason() -> None:
    def install() -> None:
        raise NotReadyError("there is no way to the repository.", fix="open one.")

    assert "no way to the repository" in fault_of(install)
    assert fault_of(lambda: None) == ""


LOCKS = Path(__file__).parents[3] / "benchmarks" / "peers" / "locks"


def test_the_lock_of_jars_names_what_ivy_fetches() -> None:
    ivy, digests = ((LOCKS / name).read_text() for name in ("ivy.xml", "jars.sha256"))
    named = [line.split()[1] for line in digests.splitlines()]
    wanted = [line.split('"') for line in ivy.splitlines() if "<dependency " in line]
    assert named == [f"{parts[1].removesuffix('->master')}/{parts[5]}-{parts[7]}.jar" for parts in wanted]


@pytest.mark.parametrize("lock", sorted(LOCKS.iterdir()), ids=lambda lock: lock.name)
def test_no_lock_says_where_a_file_comes_from(lock: Path) -> None:
    assert "://" not in lock.read_text()


@pytest.mark.parametrize("count", [50, 200, 1_000])
def test_the_records_that_close_all_windows_pass_the_filter(count: int) -> None:
    last = [json.loads(value) for value in ads._values(count, later=True)][-ads.PARTITIONS :]
    assert {record["event_type"] for record in last} == {"view"}
