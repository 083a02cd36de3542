from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sluice.errors import NotReadyError
from sluice.spark.preset import effective_settings
from sluice.specs.model import Resources


def test_the_settings_of_a_session_are_known_without_spark() -> None:
    code = "import sys, sluice.spark.preset; print('pyspark' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_what_a_spec_says_wins_over_the_preset(tmp_path: Path) -> None:
    (tmp_path / "delta.jar").touch()
    found = effective_settings(
        Resources(cores=3), jars=tmp_path, warehouse=tmp_path, overrides={"spark.sql.shuffle.partitions": "7"}
    )
    assert (found["spark.master"], found["spark.default.parallelism"]) == ("local[3]", "3")
    assert found["spark.sql.shuffle.partitions"] == "7"
    assert found["spark.jars"] == str(tmp_path / "delta.jar")


def test_a_driver_takes_no_more_of_a_cluster_than_its_spec_says(tmp_path: Path) -> None:
    (tmp_path / "delta.jar").touch()
    found = effective_settings(Resources(cores=3), jars=tmp_path, warehouse=tmp_path, master="spark://master:7077")
    assert (found["spark.master"], found["spark.cores.max"]) == ("spark://master:7077", "3")


def test_without_jars_there_is_no_session(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match="holds no jar"):
        effective_settings(Resources(), jars=tmp_path, warehouse=tmp_path)


def test_on_one_machine_data_files_need_no_process_each(tmp_path: Path) -> None:
    (tmp_path / "delta.jar").touch()
    bare = tmp_path / "hadoop-bare-naked-local-fs-0.1.0.jar"
    bare.touch()
    alone = effective_settings(Resources(), jars=tmp_path, warehouse=tmp_path)
    beside_others = effective_settings(Resources(), jars=tmp_path, warehouse=tmp_path, master="spark://master:7077")
    assert alone["spark.driver.extraClassPath"] == str(bare)
    assert alone["spark.hadoop.fs.file.impl"].endswith("BareLocalFileSystem")
    assert not {"spark.driver.extraClassPath", "spark.hadoop.fs.file.impl"} & set(beside_others)
