"""The references say what the code says. That of the DAGs needs Airflow, and is tested among the integration tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from generate.commands import commands_page
from generate.drawing import drawing
from generate.failures import errors_page
from generate.glossary import glossary_page, with_catalogue, with_reasons
from generate.markdown import table
from generate.rooms import rooms_page
from sluice.cli.main import app
from sluice.console.metrics.catalogue import CATALOGUE
from sluice.quality.reasons import Reason

HOME = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("cli.md", commands_page),
        ("errors.md", errors_page),
        ("rooms.md", rooms_page),
        ("architecture.svg", drawing),
        ("../codes.md", glossary_page),
    ],
)
def test_the_published_page_is_current(name: str, made: Any) -> None:  # noqa: ANN401 - a function without arguments
    published = (HOME / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert made() == published, "run `make references`"


def test_the_published_catalogue_of_metrics_is_current() -> None:
    published = (HOME / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert with_catalogue(published) == published, "run `make references`"
    rows = re.findall(r"^\| `(sluice_\w+)` \|", published, re.MULTILINE)
    assert rows == [metric.name for metric in CATALOGUE]


def test_the_published_reasons_of_the_quarantine_are_current() -> None:
    published = (HOME / "docs" / "validation.md").read_text(encoding="utf-8")
    assert with_reasons(published) == published, "run `make references`"
    section = published.partition("\n## Reasons\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(Reason)


def commands(group: TyperGroup, path: str) -> Iterator[tuple[str, Any]]:
    for name in group.list_commands(typer.Context(group)):
        found: Any = group.get_command(typer.Context(group), name)
        yield f"{path} {name}", found
        if isinstance(found, TyperGroup):
            yield from commands(found, f"{path} {name}")


def test_every_command_and_option_is_on_the_page_once() -> None:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    page = commands_page()
    sections = dict(re.findall(r"^#+ (sluice .*?)\n(.*?)(?=^#+ |\Z)", page, re.MULTILINE | re.DOTALL))
    found = dict(commands(root, "sluice"))
    assert list(sections) == list(found)
    for where, command in found.items():
        for parameter in [] if isinstance(command, TyperGroup) else command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                assert option in sections[where], where


def test_every_command_says_how_it_exits() -> None:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    silent = [
        where
        for where, command in commands(root, "sluice")
        if not isinstance(command, TyperGroup) and "Exit code" not in (command.help or "")
    ]
    assert silent == []


def test_every_public_error_of_the_package_is_on_the_page() -> None:
    classes: dict[str, set[str]] = {}
    for file in (HOME / "include" / "sluice").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.ClassDef):
                classes[node.name] = {base.id for base in node.bases if isinstance(base, ast.Name)}
    ours = {"SluiceError"}
    while more := {name for name, bases in classes.items() if bases & ours} - ours:
        ours |= more
    page = errors_page()
    assert {name for name in ours if not name.startswith("_") and f"`{name}`" not in page} == set()


def test_a_cell_cannot_break_its_table() -> None:
    assert table(("a", "b"), [("one | two", "three\nfour"), ("", "x")]).splitlines()[2:] == [
        "| one \\| two | three four |",
        "| | x |",
    ]
