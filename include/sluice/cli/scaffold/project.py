"""The first files of a project, from the templates in the package."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from sluice.specs.deployments.folder_names import folder_fault

_TEMPLATES = files("sluice.cli.scaffold") / "template"
_SUFFIX = ".template"
"""The suffix of every template: without it Git, linters or pytest would read some of them."""
_MAY_BE_THERE = {".git", ".venv", "wheels"}
_SHOWN = 5
_NOT_QUOTED_BY_PIP = r"[\"`]|'{3}"
"""What pip leaves as it is in the first lines of a command, which are for a shell and for Python."""


def project_files(name: str, version: str) -> Mapping[str, bytes]:
    """Return the content of each file by its path in the project, which requires a version of Sluice."""
    values = {"project": name, "version": version, "tag": ""}
    return dict(sorted((path, fill(content, values)) for path, content in templates().items()))


def templates() -> Mapping[str, bytes]:
    """Return all templates by the path of the file in the project."""
    return {path.removesuffix(_SUFFIX): file.read_bytes() for path, file in _below(_TEMPLATES, "")}


def fill(template: bytes, values: Mapping[str, str]) -> bytes:
    """Replace every `{{key}}` of a template by its value."""
    for key, value in values.items():
        template = template.replace(f"{{{{{key}}}}}".encode(), value.encode())
    return template


@cache
def _spec_templates() -> Environment:
    return Environment(
        loader=PackageLoader("sluice.cli.scaffold", "specs"),
        autoescape=False,  # noqa: S701 - YAML and Python, from names that are checked
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )


def filled(template: str, **values: object) -> str:
    """Return the text of a new spec, transform or test, from a template in `specs`."""
    return _spec_templates().get_template(f"{template}.jinja").render(values)


def project_name(folder: Path) -> str:
    """Return a name that Docker Compose accepts, from the name of a folder."""
    return re.sub(r"[^a-z0-9_-]+", "-", folder.name.lower()).strip("-_") or "project"


def folder_faults(folder: Path) -> list[str]:
    """Return all reasons why a project cannot be written into a folder, as clauses; empty if it can."""
    faults = []
    if meaning := folder_fault(str(folder)):
        faults.append(f"its path cannot be used: {meaning}")
    if match := re.search(_NOT_QUOTED_BY_PIP, str(folder)):
        faults.append(f"its path cannot be used: {match[0]} in it breaks the commands that pip installs below it")
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    if not nearest.is_dir():
        return [*faults, f"{nearest} is a file" if nearest != folder else "it is a file"]
    if not os.access(nearest, os.W_OK | os.X_OK):
        faults.append(f"this user cannot write into {nearest}")
    if nearest == folder and (there := sorted({entry.name for entry in folder.iterdir()} - _MAY_BE_THERE)):
        more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
        faults.append(f"it is not empty: it holds {', '.join(there[:_SHOWN])}{more}")
    return faults


def write_project(folder: Path, content: Mapping[str, bytes]) -> None:
    """Write the files of a project below a folder; scripts become executable."""
    for path, data in content.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        if data.startswith(b"#!"):
            file.chmod(0o755)


def _below(folder: Traversable, path: str) -> list[tuple[str, Traversable]]:
    files_below = []
    for entry in folder.iterdir():
        name = f"{path}{entry.name}"
        files_below += _below(entry, f"{name}/") if entry.is_dir() else [(name, entry)]
    return files_below
