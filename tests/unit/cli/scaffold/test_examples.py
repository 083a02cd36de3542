"""The examples: each is a sound project, described, and copied without touching what is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from sluice import __version__
from sluice.cli.main import app
from sluice.cli.scaffold.examples import example_files, example_names, examples_folder
from sluice.cli.scaffold.project import project_files, write_project
from sluice.cli.stack.example import scenario_settings
from sluice.errors import SpecError
from sluice.settings import Settings
from sluice.specs.load import load_catalog, scan

FOLDER = examples_folder()
NAMES = example_names(FOLDER)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, which commands work in."""
    home = tmp_path / "shop"
    write_project(home, project_files("shop", __version__))
    monkeypatch.setenv("SLUICE_HOME", str(home))
    return home


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_a_sound_project_with_a_feed_a_test_and_a_description(name: str, project: Path) -> None:
    write_project(project, example_files(name, FOLDER))
    found = scan(project / "include")
    assert [str(fault) for fault in found.faults] == []
    catalog = load_catalog(project / "include")
    assert list(catalog.units()) == [name], "one unit, so that one DAG starts it"
    assert {feed.topic for feed in catalog.feeds.values()} <= set(catalog.topics)
    assert all(feed.simulate is not None for feed in catalog.feeds.values()), "it runs without internet"
    assert all(pipeline.description for pipeline in catalog.pipelines.values())
    assert list((project / "tests" / "pipelines").glob("test_*.py"))
    said = (FOLDER / name / "README.md").read_text()
    assert f"SCENARIO={name}" in said
    assert f"--from {name}" in said


@pytest.mark.parametrize("name", NAMES)
def test_the_names_of_examples_do_not_collide(name: str) -> None:
    others = {path for other in NAMES if other != name for path in example_files(other, FOLDER)}
    assert not others & set(example_files(name, FOLDER)), "a project may have several"


def test_an_example_is_copied_and_an_existing_file_refuses_all_of_it(project: Path) -> None:
    copied = CliRunner().invoke(app, ["new", "pipeline", "--from", "wordcount"])
    assert copied.exit_code == 0, copied.output
    assert "wrote include/pipelines/wordcount.yaml" in copied.stdout
    assert not (project / "README.md").read_text().startswith("# Word count")
    (project / "include" / "topics" / "sentences.yaml").unlink()
    again = CliRunner().invoke(app, ["new", "pipeline", "--from", "wordcount"])
    assert again.exception is not None
    assert "already exists" in str(again.exception)
    assert not (project / "include" / "topics" / "sentences.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "nothing"], f"there is no example 'nothing'. Fix: choose one of {', '.join(NAMES)}"),
        (["words", "--from", "wordcount"], "an example keeps its names"),
        (["words"], "a pipeline needs a name and a topic"),
        ([], "a pipeline needs a name and a topic"),
    ],
)
@pytest.mark.usefixtures("project")
def test_what_is_no_example_and_no_pipeline_is_refused(arguments: list[str], said: str) -> None:
    refused = CliRunner().invoke(app, ["new", "pipeline", *arguments])
    assert said in str(refused.exception)


def test_the_demo_of_an_example_runs_in_a_project_of_its_own(tmp_path: Path) -> None:
    here = Settings(home=tmp_path / "here", state=tmp_path / "state")
    own = scenario_settings(here, "wordcount", FOLDER)
    assert own.home == here.state / "wordcount"
    assert own.state == own.home / ".sluice"
    assert list(load_catalog(own.home / "include", deployment="local").pipelines) == ["wordcount"]
    assert not here.home.exists()
    with pytest.raises(SpecError, match="there is no example 'flights'"):
        scenario_settings(here, "flights", FOLDER)
