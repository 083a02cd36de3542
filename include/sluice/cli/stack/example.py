"""The project in which `sluice demo` runs: this one if it declares the flights, else the example that the wheel brings.

The example is a project of its own, in the state folder: nothing of it enters the project that asks for it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sluice import __version__
from sluice.cli.scaffold.project import project_files, write_project
from sluice.errors import NotReadyError
from sluice.settings import Settings

_SPECS = ("include/pipelines/departures.yaml", "include/feeds/flights.yaml")
_EXAMPLE = Path(sys.prefix) / "share" / "sluice" / "example"


def demo_settings(place: Settings, example: Path = _EXAMPLE) -> Settings:
    """Return the settings of the demo's project; write the example's files where they are not as this version has them.

    Args:
        place: the settings of the project that asks.
        example: the folder of the installation with the example's specs and transforms.

    Raises:
        NotReadyError: this installation has no example, or a setting would let it share a database with others.
    """
    if all((place.home / spec).is_file() for spec in _SPECS):
        return place
    if not example.is_dir():
        raise NotReadyError(
            f"this project declares no flights, and {example} is not there.", fix="install the wheel of Sluice again."
        )
    if place.control_url:
        raise NotReadyError("the demo keeps its own control database.", fix="unset SLUICE_CONTROL_URL.")
    home = place.state / "example"
    content = {**project_files("example", __version__), **_files(example)}
    write_project(home, {path: data for path, data in content.items() if not _holds(home / path, data)})
    return Settings(home=home, state=home / ".sluice", jars=place.jars)


def _files(example: Path) -> dict[str, bytes]:
    files = (path for path in sorted(example.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(example).as_posix(): path.read_bytes() for path in files}


def _holds(file: Path, data: bytes) -> bool:
    return file.is_file() and file.read_bytes() == data
