"""The page about state from interval to interval shows what `sluice check` lets through."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sluice.settings import settings
from tests.unit.specs.bench import PIPELINE_FILE, TOPIC_FILE, TRANSFORM_FILE, Bench, sound_project

_PAGE = (settings().home / "docs" / "specs.md").read_text(encoding="utf-8")
SECTION = _PAGE[_PAGE.index("### State from interval to interval") : _PAGE.index("### Start\n")]
FUNCTIONS = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
FIELDS = (
    "    card: {type: string}\n    payment_id: {type: string}\n    amount: {type: decimal, precision: 18, scale: 2}\n"
)


@pytest.fixture
def documented(tmp_path: Path) -> Bench:
    project = sound_project(tmp_path / "project")
    project.edit(TOPIC_FILE, "    seen_at:", f"{FIELDS}    paid_at: {{type: timestamp, required: true}}\n    seen_at:")
    project.edit(PIPELINE_FILE, "sales:sales\nstatic:\n  shops:\n", "sales:judged\n")
    text = (project.home / PIPELINE_FILE).read_text()
    (output,) = re.findall(r"```yaml\n(.*?)```", SECTION, re.DOTALL)
    text = re.sub(r"    path.*\n    columns.*\n", "", text)
    project.write(PIPELINE_FILE, re.sub(r"output:\n(  .*\n)+", output, text))
    return project


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_of_the_page_is_let_through(documented: Bench, function: str) -> None:
    imports = (
        "from datetime import timedelta\n\nfrom pyspark.sql import DataFrame\nfrom pyspark.sql import functions as F\n"
    )
    documented.write(TRANSFORM_FILE, f"{imports}\n\n{function}")
    assert [str(fault) for fault in documented.scan().faults] == []


def test_there_are_both_ways() -> None:
    assert [bool("in_order" in function) for function in FUNCTIONS] == [False, True]
