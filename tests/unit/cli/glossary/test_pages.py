"""An installation prints the pages to which its messages refer."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sluice.cli.glossary import pages
from sluice.cli.glossary.pages import find_pages, sections
from sluice.cli.main import app
from sluice.errors import NotReadyError, SluiceError
from sluice.settings import PACKAGE

REPOSITORY = Path(__file__).parents[4]
SOURCES = [path for pattern in ("*.py", "*.yaml", "*.html") for path in PACKAGE.rglob(pattern)]


def test_every_page_and_section_that_the_package_names_exists() -> None:
    named = {
        match for path in SOURCES for match in re.findall(r"sluice docs ([a-z/-]+)(?:#([\w-]+))?", path.read_text())
    }
    assert ("runbook", "halted") in named
    found = find_pages()
    missing = [
        (page, anchor)
        for page, anchor in named
        if page not in found or (anchor and anchor not in sections(found[page].read_text()))
    ]
    assert missing == []


def test_no_message_names_a_file_that_a_wheel_does_not_have() -> None:
    assert [path.name for path in SOURCES if re.search(r"(?<!include/)docs/[\w/-]*\.md", path.read_text())] == []


def test_the_wheel_brings_the_pages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    built = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert built["shared-data"]["docs"] == "share/sluice/docs"
    monkeypatch.setattr(pages, "PACKAGE", tmp_path / "lib" / "sluice")
    monkeypatch.setattr(pages, "_WHEEL", REPOSITORY / "docs")
    assert {"runbook", "how-to/upgrade", "reference/cli"} <= set(find_pages())
    monkeypatch.setattr(pages, "_WHEEL", tmp_path)
    with pytest.raises(NotReadyError, match="no documentation"):
        find_pages()


def test_a_section_ends_where_the_next_of_its_level_begins_and_code_has_no_headings() -> None:
    page = "# Title\n\n## One `word`\n```\n# a comment\n```\n### Below\ntext\n## Two\n"
    assert sections(page) == {
        "title": page,
        "one-word": page[page.index("## One") : page.index("## Two")],
        "below": "### Below\ntext\n",
        "two": "## Two\n",
    }


def test_the_command_lists_pages_and_prints_one_or_a_section() -> None:
    run = CliRunner().invoke
    assert "runbook: Runbook" in run(app, ["docs"]).stdout.splitlines()
    assert run(app, ["docs", "runbook"]).stdout == (REPOSITORY / "docs" / "runbook.md").read_text()
    assert run(app, ["docs", "runbook#halted"]).stdout.startswith("## HALTED\n\n**Means**")


@pytest.mark.parametrize(("page", "fix"), [("runbok", "name one of these: runbook"), ("runbook#halt", "halted")])
def test_an_unknown_page_or_section_is_refused_with_those_that_are_alike(page: str, fix: str) -> None:
    answer = CliRunner().invoke(app, ["docs", page])
    assert isinstance(answer.exception, SluiceError)
    assert fix in answer.exception.fix
