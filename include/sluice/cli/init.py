"""`sluice init`: a project of one's own, which runs on the installed package."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from sluice import __version__
from sluice.cli.scaffold.project import folder_faults, project_files, project_name, write_project
from sluice.cli.terminal.output import out
from sluice.errors import RefusedError


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder; it is created if it does not exist.")],
) -> None:
    """Write a new project: DAGs, plugin, specs, tests, Makefile, containers and a CI example.

    The folder must be empty, but for .git, .venv and wheels/. The project requires this version of Sluice, and an
    upgrade is a new wheel: none of its files has to be merged.

    Exit codes: 0; 5 the folder cannot be used (every reason is named), nothing was written.
    """
    home = folder.resolve()
    if faults := folder_faults(home):
        raise RefusedError(
            f"no project was written into {folder}: {'; '.join(faults)}.", fix="name a new or an empty folder."
        )
    content = project_files(project_name(home), __version__)
    write_project(home, content)
    out.print(f"Wrote a project of {len(content)} files into {folder}.", markup=False, soft_wrap=True)
    steps = (
        (f"cd {shlex.quote(str(folder))}", ""),
        ("make setup", f"installs sluice=={__version__} from the package index, or from its wheel in wheels/"),
        (".venv/bin/sluice new topic NAME --sample FILE", "writes the spec of a topic, from a file of records"),
        (".venv/bin/sluice check", "checks all specs"),
    )
    out.print("\nNext:", markup=False)
    for command, what in steps:
        out.print(f"  {command:<46}  # {what}" if what else f"  {command}", markup=False, soft_wrap=True)
