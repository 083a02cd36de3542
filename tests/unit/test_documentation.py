"""The documentation names only what exists: files and headings behind links, targets of make, commands of sluice."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from sluice.cli.main import app
from tests.verify.screenshots import SHOWN

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(page for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")] if page.is_file())
INDEX = ROOT / "docs" / "README.md"
ANCHOR = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)#([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+?)\s*$", re.MULTILINE)
FENCE = re.compile(r"^ *(```|~~~).*?^ *\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")
CODE = re.compile(r"`([^`\n]+)`|^(?:```|~~~)\w*\n(.*?)^(?:```|~~~)", re.MULTILINE | re.DOTALL)
MAKE = re.compile(r"(?:^|[\s;&])make ([a-z][a-z0-9-]*)")
MODULE = re.compile(r"(?<![\w/.-])(?:sluice(?:\.[a-z_]\w*)+(?!\w|\.\w)|[a-z_]+(?:/\w+)+\.py|tests(?:/\w+)+(?:\.\w+)?)")
NO_MODULE = ("benchmarks/", "containers/", "dags/", "include/", "spark_jobs/", "tests/pipelines")
INTERFACE = (
    "sluice.table",
    "sluice.interactive.trial",
    "sluice.kafka.deduplication",
    "sluice.spark.keyed",
    "sluice.postgres.positions",
    "sluice.spark.sinks.own",
    "sluice.topics.deduplication",
    "sluice.devstack.jars",  # `python -m`, where there is no make
)
"""What users import, run, or name in a setting."""
FOR_DEVELOPERS = (
    "CONTRIBUTING",
    *(f"docs/{page}" for page in ("adr/", "dev/", "reference/", "architecture", "benchmarks", "invariants")),
)
LONGEST_LINE = 120
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


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    found: Counter[str] = Counter()
    names = set()
    for heading in HEADING.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        names.add(f"{name}-{found[name]}" if found[name] else name)
        found[name] += 1
    return names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_anchor_leads_to_a_heading(page: Path) -> None:
    missing = [
        f"{target}#{anchor}"
        for target, anchor in ANCHOR.findall(page.read_text(encoding="utf-8"))
        if not target or target.endswith(".md")
        if anchor not in anchors((page.parent / target).resolve() if target else page)
    ]
    assert missing == []


def modules(page: Path) -> list[str]:
    """Return the modules of the package and the tests that a page names in code."""
    named = MODULE.findall(code(page.read_text(encoding="utf-8")))
    return [name for name in named if not name.startswith(NO_MODULE)]


def exists(name: str) -> bool:
    """Whether a file or folder has this name; of a dotted one the last part may be something within a module."""
    if "/" in name:
        return any(ROOT.glob(f"**/{name}")) or (ROOT / f"{name}.py").exists()
    path = ROOT.joinpath("include", *name.split("."))
    files = (path.with_suffix(".py"), path.parent.with_suffix(".py"))
    package = path.parent / "__init__.py"
    return path.is_dir() or any(file.is_file() for file in files) or path.name in package.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_module_that_a_page_names_exists(page: Path) -> None:
    assert [name for name in modules(page) if not exists(name)] == []


FOR_USERS = [page for page in PAGES if not page.relative_to(ROOT).as_posix().startswith(FOR_DEVELOPERS)]


@pytest.mark.parametrize("page", FOR_USERS, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_for_users_name_no_internal_module_and_no_test(page: Path) -> None:
    assert [name for name in modules(page) if not name.startswith(INTERFACE)] == []


@pytest.mark.parametrize("page", FOR_USERS, ids=lambda page: str(page.relative_to(ROOT)))
def test_prose_has_short_lines(page: Path) -> None:
    lines = FENCE.sub("", page.read_text(encoding="utf-8")).splitlines()
    assert [line for line in lines if len(line) > LONGEST_LINE and not line.lstrip().startswith(("|", "![", "`"))] == []


def test_the_index_leads_to_every_page() -> None:
    linked = {(INDEX.parent / link).resolve() for link in LINK.findall(INDEX.read_text(encoding="utf-8"))}
    pages = {page for page in PAGES if page.is_relative_to(INDEX.parent) and page.parent.name != "adr"} - {INDEX}
    assert sorted(str(page.relative_to(ROOT)) for page in pages - linked) == []
    assert "docs/README.md" in LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))


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


def test_pictures_are_few_small_shown_and_made_by_the_recipe() -> None:
    folder = ROOT / "docs" / "images"
    sizes = {file.name: file.stat().st_size for file in folder.iterdir()}
    assert set(sizes) == {picture.file for picture in SHOWN}
    assert len(sizes) <= 7
    assert max(sizes.values()) < 150 * 1024
    assert all((folder / name).read_bytes().startswith(b"\x89PNG") for name in sizes)
    pages = (ROOT / "docs" / page for page in ("console.md", "serve.md"))
    shown = {link for page in pages for link in LINK.findall(page.read_text(encoding="utf-8"))}
    assert {f"images/{name}" for name in sizes} <= shown


def test_make_explains_every_target_and_hides_none() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    declared = set(re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE))
    explained = set(re.findall(r"^([a-z0-9-]+):.*## \S", makefile, re.MULTILINE))
    assert explained == declared
