"""What the how-to pages tell people to type is accepted: commands with their options, and whole specs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from sluice.cli.main import app
from sluice.specs.load import scan
from tests.editing import copy_project

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(ROOT.glob("docs/how-to/*.md"))
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
SPEC = re.compile(r"\A# (include/\S+\.yaml)\n")
TRANSFORM = re.compile(r"\A# (spark_jobs/transforms/\S+\.py)\n")


def blocks(page: Path, language: str) -> Iterator[str]:
    for indent, named, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if named == language:
            yield re.sub(rf"^{indent}", "", text, flags=re.MULTILINE)


def samples() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for text in blocks(page, ""):
            yield from ((page.name, line) for line in text.splitlines() if line.startswith("sluice "))


def refused(words: list[str]) -> str:
    """Read a command line as `sluice` does, without running it; return why it is refused, or nothing."""
    command: Any = typer.main.get_command(app)
    while isinstance(command, TyperGroup) and words and not words[0].startswith("-"):
        found: Any = command.get_command(typer.Context(command), words[0])
        if found is None:
            return f"there is no command {words[0]}"
        command, words = found, words[1:]
    try:
        command.make_context("sluice", list(words)).close()
    except Exception as error:  # noqa: BLE001 - click's classes are private to typer
        said = getattr(error, "format_message", None)
        return str(said() if said else error) or type(error).__name__
    return ""


@pytest.mark.parametrize(("page", "line"), list(samples()))
def test_every_command_is_accepted_as_it_is_written(page: str, line: str) -> None:
    _, *words = shlex.split(line, comments=True)
    assert refused(words) == "", f"{page}: {line}"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("streams logs flights --lines 100", "--lines"),
        ("backfill run departures --from 2013-01-01", "--to"),
        ("backfill run departures --from yesterday --to 2013-01-08", "yesterday"),
        ("streams flush flights", "flush"),
    ],
)
def test_a_wrong_command_would_be_noticed(line: str, why: str) -> None:
    assert why in refused(shlex.split(line))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_whole_specs_are_sound_in_this_project(page: Path, tmp_path: Path) -> None:
    copy_project(tmp_path)
    for text in (*blocks(page, "yaml"), *blocks(page, "python")):
        if named := SPEC.match(text) or TRANSFORM.match(text):
            (tmp_path / named[1]).parent.mkdir(exist_ok=True)
            (tmp_path / named[1]).write_text(text, encoding="utf-8")
    assert [str(fault) for fault in scan(tmp_path / "include").faults] == []


def test_the_pages_show_specs_and_commands() -> None:
    assert len(PAGES) >= 8
    assert len(list(samples())) > 40
    assert sum(bool(SPEC.match(text)) for page in PAGES for text in blocks(page, "yaml")) >= 2
