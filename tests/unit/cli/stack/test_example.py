"""Where the demo runs: in a project that declares the flights, or in the example that the installation brings."""

from __future__ import annotations

import shlex
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from sluice.cli.scaffold.project import project_files, write_project
from sluice.cli.stack.example import demo_settings
from sluice.cli.stack.page_server import PageServer
from sluice.errors import NotReadyError
from sluice.project.project import Project
from sluice.settings import Settings, settings
from sluice.specs.load import load_catalog

REPOSITORY = Path(__file__).parents[4]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The example as an installation has it: what the wheel's shared data names."""
    built = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    for source, target in built["targets"]["wheel"]["shared-data"].items():
        shutil.copytree(REPOSITORY / source, tmp_path / "prefix" / target)
    return tmp_path / "prefix" / "share" / "sluice" / "example"


@pytest.fixture
def place(tmp_path: Path) -> Settings:
    """A new project."""
    write_project(tmp_path / "shop", project_files("shop", "1.2.3"))
    return Settings(home=tmp_path / "shop", state=Path(".sluice"))


def test_this_repository_declares_the_flights_itself(example: Path) -> None:
    assert demo_settings(settings(), example) is settings()


def test_another_project_gets_the_example_as_a_project_of_its_own(place: Settings, example: Path) -> None:
    before = {file for file in place.home.rglob("*") if file.is_file()}

    own = demo_settings(place, example)

    assert own.home == place.state / "example"
    assert own.state == own.home / ".sluice"
    assert own.jars == place.jars
    ours, theirs = load_catalog(own.home / "include", deployment="local"), load_catalog(REPOSITORY / "include")
    assert (ours.pipelines, ours.feeds, ours.topics) == (theirs.pipelines, theirs.feeds, theirs.topics)
    assert {path.name for path in (own.home / "dags").iterdir()} >= {"streams.py", "topics.py"}
    after = {file for file in place.home.rglob("*") if file.is_file() and not file.is_relative_to(place.state)}
    assert after == before


def test_the_pages_of_a_demo_name_the_command_that_ends_its_stack(place: Settings, example: Path) -> None:
    assert PageServer(Project.open_strict(settings())).end == "sluice down"

    own = demo_settings(place, example)
    folder, command = PageServer(Project.open_strict(own)).end.split(" && ")

    assert shlex.split(folder) == ["cd", str(own.home)]
    assert shlex.split(command) == [str(Path(sys.executable).with_name("sluice")), "down"]


def test_a_second_demo_writes_only_what_has_changed(place: Settings, example: Path) -> None:
    home = demo_settings(place, example).home
    kept, spoilt = home / "dags" / "streams.py", home / "dags" / "topics.py"
    spoilt.write_text("raise SystemExit")
    written = kept.stat().st_mtime_ns

    demo_settings(place, example)

    assert kept.stat().st_mtime_ns == written
    assert "build_topics_dag" in spoilt.read_text()


def test_an_installation_without_the_example_says_so(place: Settings, tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match="declares no flights"):
        demo_settings(place, tmp_path / "nowhere")


def test_the_example_never_shares_a_control_database(place: Settings, example: Path) -> None:
    with pytest.raises(NotReadyError, match="unset SLUICE_CONTROL_URL"):
        demo_settings(Settings(home=place.home, control_url="sqlite:///shared.db"), example)
