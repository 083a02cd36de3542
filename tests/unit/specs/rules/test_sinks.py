"""Sinks that a project writes itself: what `sluice check` says of them, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.specs.bench import PIPELINE_FILE, Bench, sound_project

SINK_FILE = "spark_jobs/sinks/crm.py"
SINK = '''\
"""The customer database."""

from sluice.spark.sinks.own import delivers


@delivers("at_least_once")
def write(rows, batch):
    """Write a batch."""
'''
OUTPUTS = """\
outputs:
- kind: intervals
  table: sales
  time_column: hour
  window: 1 hour
  interval: hour
- kind: sink
  name: crm
  function: crm:write
  connection: crm
"""


@pytest.fixture
def project(tmp_path: Path) -> Bench:
    return project_with_sink(tmp_path / "project")


def project_with_sink(home: Path) -> Bench:
    project = sound_project(home)
    text = (project.home / PIPELINE_FILE).read_text()
    before, _, rest = text.partition("output:\n")
    project.write(PIPELINE_FILE, f"{before}{OUTPUTS}driver{rest.partition('driver')[2]}")
    project.write(SINK_FILE, SINK)
    return project


def said(project: Bench) -> list[str]:
    return [str(fault) for fault in project.scan().faults]


def test_a_function_with_a_guarantee_is_a_sink(project: Bench) -> None:
    assert said(project) == []
    catalog = project.scan().catalog
    assert [(stream.name, [o.kind for o in stream.outputs]) for stream in catalog.streams.values()][-1] == (
        "sales_live",
        ["sink"],
    )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("def write", "def other", "defines no function 'write' at its top level. Fix: it defines other."),
        ('@delivers("at_least_once")\n', "", "write in spark_jobs/sinks/crm.py declares no guarantee."),
        ('"at_least_once"', '"twice"', "guarantees 'twice'; there are at_least_once and exactly_once."),
        ('"at_least_once"', "", "guarantees nothing; there are"),
        ('"at_least_once"', '"exactly_once"', "declares exactly_once and does not say what the sink holds."),
        ('"at_least_once"', '"at_least_once", newest=print', "declares at_least_once and needs no `newest`."),
        (
            "(rows, batch)",
            "(rows)",
            "write(rows) must take the rows and the batch. Fix: write `def write(rows, batch)`.",
        ),
        ("def write", "def write(", "spark_jobs/sinks/crm.py:7: is not Python"),
    ],
)
def test_a_mistake_in_the_module_is_one_fault(project: Bench, old: str, new: str, words: str) -> None:
    project.edit(SINK_FILE, old, new)
    (fault,) = said(project)
    assert words in fault


def test_a_module_that_is_not_there_is_named(project: Bench) -> None:
    project.edit(PIPELINE_FILE, "crm:write", "erp.orders:write")
    (fault,) = said(project)
    assert "sales.yaml:19: outputs[1].function: the sink needs a file spark_jobs/sinks/erp/orders.py" in fault


def test_two_outputs_of_one_name_would_share_a_table(project: Bench) -> None:
    project.edit(PIPELINE_FILE, "  connection: crm\n", "- {kind: sink, name: crm, function: 'crm:write'}\n")
    faults = said(project)
    assert len(faults) == 2
    assert all("the table 'crm_deliveries' is also written by" in fault for fault in faults)
