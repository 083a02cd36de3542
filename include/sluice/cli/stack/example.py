"""The project in which `sluice demo` runs: this one if it declares the flights, else an example as one of its own.

That lies in the state folder, so it adds nothing to the current project.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from sluice import __version__
from sluice.cli.scaffold.examples import example_files, files_below
from sluice.cli.scaffold.project import project_files, write_project
from sluice.errors import NotReadyError
from sluice.settings import CONTROL_URL, Settings, is_set

_SPECS = ("include/pipelines/departures.yaml", "include/feeds/flights.yaml")
_EXAMPLE = Path(sys.prefix) / "share" / "sluice" / "example"


def demo_settings(current: Settings, example: Path = _EXAMPLE) -> Settings:
    """Return the settings of the demo's project; write those files of the example that are missing or outdated.

    Raises:
        NotReadyError: this installation has no example, or the example would share the control database.
    """
    if all((current.home / spec).is_file() for spec in _SPECS):
        return current
    if not example.is_dir():
        raise NotReadyError(
            f"this project declares no flights, and {example} does not exist.", fix="install the wheel of Sluice again."
        )
    return _written(current, "example", files_below(example))


def scenario_settings(current: Settings, name: str, folder: Path) -> Settings:
    """Return the settings of a project that is one of the examples in a folder.

    Raises:
        SpecError: there is no such example.
        NotReadyError: it would share the control database.
    """
    return _written(current, name, example_files(name, folder))


def _written(current: Settings, name: str, files: Mapping[str, bytes]) -> Settings:
    """Write those files of a project that are missing or outdated."""
    if current.control_url or is_set(CONTROL_URL):
        raise NotReadyError(
            "the demo keeps its own control database.",
            fix="unset SLUICE_CONTROL_URL, and its forms that end in _FILE and _COMMAND.",
        )
    home = current.state / name
    content = {**project_files(name, __version__), **files}
    current_files = {path: (home / path).read_bytes() for path in content if (home / path).is_file()}
    write_project(home, {path: data for path, data in content.items() if current_files.get(path) != data})
    return Settings(home=home, state=home / ".sluice", jars=current.jars)
