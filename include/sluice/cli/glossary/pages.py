"""`sluice docs`: the pages of the documentation, which the wheel brings because messages refer to them."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from sluice.cli.terminal.output import out, out_lines
from sluice.errors import NotReadyError, SpecError
from sluice.settings import PACKAGE

_WHEEL = Path(sys.prefix) / "share" / "sluice" / "docs"
_FOR_USERS = ("*.md", "how-to/*.md", "reference/*.md")
_FENCED = re.compile(r"^ *(```|~~~).*?^ *\1", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)


def find_pages() -> dict[str, Path]:
    """Return the pages for users by name, such as `runbook` and `how-to/upgrade`.

    Raises:
        NotReadyError: this installation has none.
    """
    clone = PACKAGE.parents[1] / "docs"
    folder = next((each for each in (clone, _WHEEL) if (each / "runbook.md").is_file()), None)
    if folder is None:
        raise NotReadyError(f"there is no documentation in {_WHEEL}.", fix="install the wheel of Sluice again.")
    files = (file for pattern in _FOR_USERS for file in sorted(folder.glob(pattern)))
    return {file.relative_to(folder).with_suffix("").as_posix(): file for file in files}


def sections(page: str) -> dict[str, str]:
    """Return the sections of a page by anchor, each with those below it; the text is that of the page."""
    without_code = _FENCED.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), page)
    headings = list(_HEADING.finditer(without_code))
    found = {}
    for number, heading in enumerate(headings):
        later = (each.start() for each in headings[number + 1 :] if len(each[1]) <= len(heading[1]))
        found[_anchor(heading[2])] = page[heading.start() : next(later, len(page))]
    return found


def _anchor(heading: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def docs(
    page: Annotated[
        str,
        typer.Argument(
            help="Such as runbook, or runbook#halted for one section. Default: the names of all pages.",
            autocompletion=lambda: list(find_pages()),
        ),
    ] = "",
) -> None:
    """Print a page of the documentation.

    Exit codes: 0; 2 there is no such page or section; 3 the installation has no documentation.
    """
    pages = find_pages()
    name, _, anchor = page.partition("#")
    if not page:
        for each, file in pages.items():
            title = file.read_text(encoding="utf-8").partition("\n")[0]
            out_lines.print(f"{each}: {title.removeprefix('# ')}")
        return
    _refuse_unknown(name, pages, "The documentation has no page")
    text = pages[name].read_text(encoding="utf-8")
    if anchor:
        known = sections(text)
        _refuse_unknown(anchor, known, f"The page {name} has no section")
        text = known[anchor]
    out.write(text.rstrip() + "\n")


def _refuse_unknown(name: str, known: Collection[str], what: str) -> None:
    if name not in known:
        near = ", ".join(get_close_matches(name, known, n=3) or known)
        raise SpecError(f"{what} {name!r}.", fix=f"name one of these: {near}.")
