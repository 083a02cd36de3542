"""The page about several sources shows what `sluice check` lets through."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sluice.settings import settings
from tests.unit.specs.bench import Bench
from tests.unit.specs.several import PIPELINE_FILE, SUITE_FILE, project_with_several

_PAGE = (settings().home / "docs" / "specs.md").read_text(encoding="utf-8")
_OF_TABLES = _PAGE[_PAGE.index("#### A settled table as a source") : _PAGE.index("#### Columns beside the value")]
SECTION = _PAGE[_PAGE.index("### Several sources") : _PAGE.index("### State from interval")].replace(_OF_TABLES, "")
AD = "    ad: {type: string, required: true}\n"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", SECTION, re.DOTALL)


QUERIES = blocks("sql")
FUNCTIONS = [block for block in blocks("python") if "return" in block]


@pytest.fixture
def documented(tmp_path: Path) -> Bench:
    project = project_with_several(tmp_path / "project")
    (project.home / SUITE_FILE).unlink()
    for topic in ("ad_impressions", "ad_clicks"):
        project.edit(f"include/topics/{topic}.yaml", AD, f"{AD}    user_id: {{type: string}}\n")
    return project


def write_spec(project: Bench, transform: str, block: str) -> None:
    """Write the spec of the page with what the text around a block says of it."""
    (spec,) = blocks("yaml")
    spec = spec.replace("click_through:click_through", transform)
    if "campaigns" not in block:
        spec = re.sub(r"static:\n  campaigns.*\n", "", spec)
    if "SEMI" in block or "left_semi" in block:
        spec = spec.replace("time_column: clicked_at", "time_column: shown_at")
        spec = spec.replace("    columns:", "    lookahead: 1 hour\n    columns:")
    project.write(PIPELINE_FILE, spec)


def test_the_page_shows_an_inner_a_semi_join_and_a_union_in_both_languages() -> None:
    assert (len(QUERIES), len(FUNCTIONS)) == (3, 3)


@pytest.mark.parametrize("query", QUERIES)
def test_a_select_of_the_page_is_let_through(documented: Bench, query: str) -> None:
    write_spec(documented, "shown.sql", query)
    documented.write("spark_jobs/transforms/shown.sql", query)
    assert documented.scan().faults == ()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_of_the_page_is_let_through(documented: Bench, function: str) -> None:
    (name,) = re.findall(r"def (\w+)", function)
    write_spec(documented, f"shown:{name}", function)
    imports = "from pyspark.sql import DataFrame\nfrom pyspark.sql import functions as F\n"
    documented.write("spark_jobs/transforms/shown.py", f"{imports}\n\n{function}")
    assert documented.scan().faults == ()


@pytest.mark.parametrize("reach", ["    lookback: 1 hour\n", "    lookahead: 1 hour\n"])
def test_the_reaches_of_the_page_are_needed(documented: Bench, reach: str) -> None:
    query = next(each for each in QUERIES if ("SEMI" in each) == ("lookahead" in reach) and "JOIN" in each)
    write_spec(documented, "shown.sql", query)
    documented.write("spark_jobs/transforms/shown.sql", query)
    documented.edit(PIPELINE_FILE, reach, "")
    (fault,) = documented.scan().faults
    assert f"write `{reach.strip()}` under sources." in fault.fix
