"""What `sluice new pipeline` writes passes its own test, in the engine of the streams."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sluice.settings import inherited, settings

pytestmark = pytest.mark.verify

RECORDS = """\
{"order":1,"at":"2026-01-01T12:00:00Z","price":2.5,"paid":true}
{"order":2,"at":"2026-01-01T12:30:00Z","price":3,"paid":false}
"""


VALUES = {
    "messages": ["format: protobuf", "version: 1"],
    "columns": ["format: csv", "delimiter: ;"],
}
FIELDS = """\
  fields:
    id: {type: long, required: true}
    at: {type: timestamp, required: true}
    note: {type: string}
  event_time: at
  arrival_time: at
"""
PROTO = """\
syntax = "proto3";
import "google/protobuf/timestamp.proto";
message Message { int64 id = 1; google.protobuf.Timestamp at = 2; string note = 3; }
"""


def write_topics(include: Path) -> None:
    """Write topics whose values are no JSON."""
    for name, keys in VALUES.items():
        value = "".join(f"  {key}\n" for key in keys) + FIELDS
        raw = f"raw: {{table: {name}_raw, driver: {name}}}\n"
        (include / "topics" / f"{name}.yaml").write_text(f"name: {name}\npartitions: 1\nvalue:\n{value}{raw}")
    (include / "schemas" / "messages").mkdir()
    (include / "schemas" / "messages" / "1.proto").write_text(PROTO)


def test_a_new_topic_and_pipeline_pass_their_own_test(tmp_path: Path) -> None:
    for folder in ("include", "spark_jobs"):
        shutil.copytree(settings().home / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "records.jsonl").write_text(RECORDS)
    write_topics(tmp_path / "include")
    place = {"SLUICE_HOME": tmp_path, "SLUICE_STATE": tmp_path / "state", "SLUICE_JARS": settings().jars}
    environment = {**inherited(), **{name: str(path) for name, path in place.items()}}
    sluice = [sys.executable, "-c", "from sluice.cli.main import main; main()"]
    for command in (
        [*sluice, "new", "topic", "orders", "--sample", "records.jsonl"],
        [*sluice, "new", "pipeline", "orders_per_hour", "--source", "orders"],
        [*sluice, "new", "pipeline", "flown", "--source", "flights", "--sql"],
        *([*sluice, "new", "pipeline", f"{name}_per_hour", "--source", name] for name in VALUES),
        [*sluice, "check"],
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/pipelines"],
    ):
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
