"""The documentation names only what exists: files behind links, targets of make, commands of sluice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from sluice.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(page for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")] if page.is_file())
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")
CODE = re.compile(r"`([^`\n]+)`|^(?:```|~~~)\w*\n(.*?)^(?:```|~~~)", re.MULTILINE | re.DOTALL)
MAKE = re.compile(r"(?:^|[\s;&])make ([a-z][a-z0-9-]*)")
SLUICE = re.compile(r"(?:^|[\s;&/])sluice ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?")


def code(text: str) -> str:
    return "\n".join(inline or block for inline, block in CODE.findall(text))


@pytest.fixture(scope="module")
def commands() -> TyperGroup:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return group


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_target_of_make_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(MAKE.findall(code(page.read_text(encoding="utf-8")))) - targets == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_sluice_exists(page: Path, commands: TyperGroup) -> None:
    for name, verb in SLUICE.findall(code(page.read_text(encoding="utf-8"))):
        command = commands.get_command(typer.Context(commands), name)
        assert command is not None, f"sluice {name}"
        if verb and isinstance(command, TyperGroup):
            assert verb in command.commands, f"sluice {name} {verb}"


def test_make_explains_every_target_and_hides_none() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    declared = set(re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE))
    explained = set(re.findall(r"^([a-z0-9-]+):.*## \S", makefile, re.MULTILINE))
    assert explained == declared
