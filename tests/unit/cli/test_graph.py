"""`sluice graph`, and what a backfill says of the pipelines behind it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sluice.cli.graph import as_dict, as_tree, in_mermaid
from sluice.delta.log import append_entry
from sluice.delta.table import ensure_table
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.request import Mode, Request
from sluice.intervals.entries import Content, Entry, SettleEntry
from sluice.project.chains import ChainState, chain_states, downstream_of
from sluice.project.project import Project
from sluice.settings import Settings
from sluice.specs.catalog.graph import graph_of
from tests.settlements import lacking
from tests.unit.specs.chain import DAYS, QUERY, chained_project

START, HOUR, DAY = datetime(2013, 1, 1, tzinfo=UTC), timedelta(hours=1), timedelta(days=1)
SCHEMA = '{"type": "struct", "fields": [{"name": "at", "type": "timestamp", "nullable": true, "metadata": {}}]}'
TREE = """\
topic orders
└─ pipeline sales (settled until 2013-01-03T00:00Z, 1 dirty)
   └─ table sales
      ├─ pipeline days (settled until 2013-01-03T00:00Z, 1 interval over dirty ones)
      │  └─ table days
      │     └─ pipeline weeks (nothing settled)
      │        └─ table weeks
      └─ pipeline other (nothing settled)
         └─ table other"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    bench = chained_project(tmp_path / "project")
    for name, read in (("other", "sales"), ("weeks", "days")):
        bench.write(f"include/pipelines/{name}.yaml", DAYS.replace("days", name).replace("sales", read))
        bench.write(f"spark_jobs/transforms/{name}.sql", QUERY)
    opened = Project.open_strict(Settings(home=bench.home, state=tmp_path / "state", deployment="prod"))
    dirty = lacking(START + 2 * DAY, START + 3 * HOUR, read={"orders/0": 5})
    written(opened, "sales", settled(HOUR, 48), dirty)
    written(opened, "days", settled(DAY, 2))
    return opened


def settled(length: timedelta, count: int) -> SettleEntry:
    content = {START + n * length: Content(1, "1") for n in range(count)}
    return SettleEntry("s", 1, "n", START, START + count * length, {}, content)


def written(project: Project, table: str, *entries: Entry) -> None:
    folder = project.folder.table(table)
    ensure_table(folder, SCHEMA)
    for entry in entries:
        append_entry(folder, entry)


def test_the_tree_says_how_far_each_pipeline_is(project: Project) -> None:
    graph = graph_of(project.catalog)
    states = chain_states(project, project.catalog.pipelines)
    assert "\n".join(as_tree(graph, states)) == TREE
    assert states["sales"] == ChainState(START + 2 * DAY, 1, 0)
    written_down = as_dict(graph.around("other"), states)
    assert [node["id"] for node in written_down["nodes"]] == [
        "topic:orders",
        "pipeline:sales",
        "table:sales",
        "pipeline:other",
        "table:other",
    ]
    assert written_down["edges"][0] == {"from": "topic:orders", "to": "pipeline:sales"}
    assert written_down["nodes"][1]["dirty"] == 1


def test_mermaid_draws_each_edge(project: Project) -> None:
    lines = list(in_mermaid(graph_of(project.catalog).around("other")))
    assert lines[:3] == ["flowchart LR", '  n0(["orders"])', '  n1["sales"]']
    assert lines[-1] == "  n3 --> n4"


def test_a_backfill_says_what_rests_on_its_range(project: Project) -> None:
    range_ = Interval(START + 20 * HOUR, START + 30 * HOUR)
    (days,) = downstream_of(project, Request("sales", range_, Mode.RECOMPUTE, "me", "why"))
    assert (days.pipeline, days.table, days.intervals) == ("days", "sales", 2)
    assert days.command == (
        "sluice backfill run days --from 2013-01-01T00:00Z --to 2013-01-03T00:00Z --mode recompute --only dirty"
    )
    assert days.in_words.startswith("days has 2 settled intervals over sales; those whose rows change are marked: ")
    assert downstream_of(project, Request("sales", range_, Mode.VERIFY, "me", "why")) == ()
    written(project, "weeks", settled(DAY, 1))
    found = downstream_of(project, Request("sales", range_, Mode.CORRECT, "me", "why"))
    assert [(each.pipeline, each.table, each.intervals) for each in found] == [
        ("days", "sales", 2),
        ("weeks", "days", 1),
    ]
