"""What intervals hand on is a table for `sluice sql`: as the newest settled interval has left it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from sluice.delta.log import append_entry
from sluice.delta.sql import query, schema_of
from sluice.delta.table import ensure_table
from sluice.interactive.table import states_of
from sluice.intervals.carried import Carried
from sluice.intervals.entries import Content, SettleEntry
from sluice.project.project import Project
from sluice.settings import Settings
from tests.unit.specs.bench import PIPELINE_FILE, TRANSFORM_FILE, sound_project

NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
CARRIES = "  carries:\n    balances: {keys: [shop], columns: {shop: string, total: long}}\n"
SCHEMA = '{"type":"struct","fields":[{"name":"hour","type":"timestamp","nullable":true,"metadata":{}}]}'


@pytest.fixture
def project(tmp_path: Path) -> Project:
    bench = sound_project(tmp_path / "project")
    bench.edit(PIPELINE_FILE, "  interval: hour\n", f"  interval: hour\n{CARRIES}")
    bench.edit(TRANSFORM_FILE, "*, shops: DataFrame", "*, shops: DataFrame, balances: DataFrame")
    return Project.open_strict(Settings(home=bench.home, state=tmp_path / "state", deployment="prod"))


def settle(project: Project, hour: int, totals: dict[str, int], before: str = "") -> None:
    digest = f"digest_{hour}"
    file = project.folder.carried / "sales" / "balances" / f"{digest}.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table({"shop": list(totals), "total": list(totals.values())}), file)
    start = NOON + hour * HOUR
    carried = {start: Carried({"balances": before} if before else {}, {"balances": digest})}
    content = {start: Content(1, "1")}
    entry = SettleEntry("settle:sales", 1, f"n{hour}", start, start + HOUR, {}, content, carried=carried)
    append_entry(project.folder.table("sales"), entry)


def test_there_is_none_before_the_first_interval(project: Project) -> None:
    assert states_of(project) == {}
    ensure_table(project.folder.table("sales"), SCHEMA)
    assert states_of(project) == {}


def test_the_newest_state_can_be_queried(project: Project) -> None:
    ensure_table(project.folder.table("sales"), SCHEMA)
    settle(project, 0, {"north": 1})
    settle(project, 1, {"north": 3, "south": 4}, before="digest_0")
    states = states_of(project)
    assert list(states) == ["sales_balances"]
    assert schema_of(states["sales_balances"]).names == ["shop", "total"]
    found = query("SELECT sum(total) AS total FROM sales_balances", states)
    assert found.to_pylist() == [{"total": 7}]


def test_a_state_whose_file_is_gone_is_no_table(project: Project) -> None:
    ensure_table(project.folder.table("sales"), SCHEMA)
    settle(project, 0, {"north": 1})
    states_of(project)["sales_balances"].unlink()
    assert states_of(project) == {}
