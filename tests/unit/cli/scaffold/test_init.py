"""What `sluice init` writes: a project that is sound as it is, of the shape of this repository, without its example."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from sluice import __version__
from sluice.cli.main import app
from sluice.cli.scaffold.project import fill, project_files, project_name, templates
from sluice.errors import RefusedError, SluiceError
from sluice.settings import find_project, settings
from sluice.specs.load import scan

REPOSITORY = Path(__file__).parents[4]
FILES = project_files("shop", "1.2.3")
SAME_AS_HERE = (
    *(
        f"dags/{name}.py"
        for name in ("backfills", "mirrors", "proofs", "quality", "spec_errors", "streams", "topics", "upkeep")
    ),
    "plugins/sluice_plugin.py",
    "spark_jobs/batch.py",
    "spark_jobs/stream.py",
    "spark_jobs/transforms/__init__.py",
    "include/access/feed.yaml",
    "include/access/stream.yaml",
    "include/access/watcher.yaml",
    "include/deployments/compose.yaml",
    "include/deployments/local.yaml",
    ".env.example",
    "containers/.gitignore",
    "containers/prepare.sh",
)
SAMPLE = b'{"order": 1, "at": "2026-01-01T12:00:00Z", "price": 2}\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new project, which is the current folder."""
    run("init", str(tmp_path / "shop"))
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.delenv("SLUICE_HOME", raising=False)
    return tmp_path / "shop"


def run(*arguments: str) -> str:
    answer = CliRunner().invoke(app, list(arguments))
    if isinstance(answer.exception, SluiceError):
        raise answer.exception
    assert answer.exit_code == 0, answer.output
    return answer.output


def written(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("path", SAME_AS_HERE)
def test_this_repository_is_of_the_same_shape(path: str) -> None:
    assert FILES[path] == (REPOSITORY / path).read_bytes()


def test_no_thin_file_of_this_repository_is_missing_in_a_project() -> None:
    thin = [*REPOSITORY.glob("dags/*.py"), *REPOSITORY.glob("plugins/*.py"), *REPOSITORY.glob("spark_jobs/*.py")]
    assert {str(file.relative_to(REPOSITORY)) for file in thin} <= set(SAME_AS_HERE)


def test_the_containers_of_a_project_are_those_of_this_repository() -> None:
    compose = templates()["docker-compose.yaml"]
    here = fill(compose, {"project": "sluice", "tag": f":{__version__}"})
    assert here == (REPOSITORY / "docker-compose.yaml").read_bytes()

    ours = (REPOSITORY / "containers" / "Dockerfile").read_text(encoding="utf-8")
    theirs = FILES["containers/Dockerfile"].decode()
    for stage in ("base", "postgres", "metrics"):
        assert _stage(theirs, stage) == _stage(ours, stage)


def _stage(dockerfile: str, name: str) -> list[str]:
    """Return the lines of a stage without comments and what it copies: a project copies out of its wheel."""
    _, _, rest = dockerfile.partition(f" AS {name}\n")
    stage = rest.partition("\nFROM ")[0].replace("\\\n", "").splitlines()
    return [line for line in stage if line and not line.startswith(("#", "COPY "))]


def test_nothing_of_the_example_is_in_a_project() -> None:
    words = re.compile(rb"\bflight|departure|nycflights|airport|airline|\bdemo\b", re.IGNORECASE)
    assert {path: found for path, data in FILES.items() if (found := words.findall(path.encode() + data))} == {}


def test_no_placeholder_is_left_and_no_template_has_an_unknown_one() -> None:
    assert {path for path, data in FILES.items() if re.search(rb"\{\{\w+\}\}", data)} == set()


def test_a_project_requires_the_sluice_that_wrote_it() -> None:
    assert "sluice==1.2.3" in FILES["requirements.txt"].decode().splitlines()
    assert yaml.safe_load(FILES["docker-compose.yaml"])["name"] == "shop"


@pytest.mark.parametrize("path", FILES)
def test_every_file_is_of_its_kind_and_ends_as_text_does(path: str) -> None:
    text = FILES[path].decode()
    assert text.endswith("\n")
    match Path(path).suffix:
        case ".py":
            ast.parse(text)
        case ".yaml":
            yaml.safe_load(text)
        case ".toml":
            tomllib.loads(text)
        case _:
            pass


def test_a_new_project_is_written_whole_and_the_next_commands_are_named(tmp_path: Path) -> None:
    told = run("init", str(tmp_path / "a" / "My Shop"))

    assert written(tmp_path / "a" / "My Shop") == dict(project_files("my-shop", __version__))
    assert (tmp_path / "a" / "My Shop" / "containers" / "prepare.sh").stat().st_mode & 0o111
    assert [line.split("  #")[0].strip() for line in told.split("Next:\n")[1].splitlines()] == [
        f"cd '{tmp_path / 'a' / 'My Shop'}'",
        "make setup",
        ".venv/bin/sluice new topic NAME --sample FILE",
        ".venv/bin/sluice check",
    ]


def test_targets_and_files_that_are_named_exist() -> None:
    makefile = FILES["Makefile"].decode()
    named = " ".join(FILES[path].decode() for path in ("README.md", ".github/workflows/ci.yaml"))
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    asked = re.findall(r"(?:\$ |run: |`)make ((?:[a-z]+ ?)*)", named)
    assert {"setup", "check", "test", "up"} <= {word for words in asked for word in words.split()} <= targets
    for link in re.findall(r"\]\(([^)]+)\)", FILES["README.md"].decode()):
        assert link in FILES


def test_a_folder_may_hold_what_comes_before_a_project(tmp_path: Path) -> None:
    for name in (".git", ".venv", "wheels"):
        (tmp_path / name).mkdir()
    (tmp_path / "wheels" / "sluice.whl").write_bytes(b"")
    run("init", str(tmp_path))
    assert (tmp_path / "wheels" / "sluice.whl").exists()
    assert (tmp_path / "Makefile").exists()


def test_a_folder_that_cannot_be_used_is_refused_with_every_reason(tmp_path: Path) -> None:
    folder = tmp_path / "a,b"
    folder.mkdir()
    for name in ("one", "two", "three", "four", "five", "six", ".git"):
        (folder / name).touch()
    with pytest.raises(RefusedError) as refused:
        run("init", str(folder))
    assert "',' in it separates folders" in str(refused.value)
    assert "it holds five, four, one, six, three and 1 more" in str(refused.value)
    assert "choose a new or an empty folder" in str(refused.value)
    assert len(list(folder.iterdir())) == 7


@pytest.mark.parametrize(("below", "why"), [("", "it is a file"), ("inner", "taken is a file")])
def test_a_file_is_no_folder(tmp_path: Path, below: str, why: str) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(RefusedError, match=why):
        run("init", str(tmp_path / "taken" / below))


def test_an_empty_project_is_sound_and_says_what_comes_next(project: Path) -> None:
    assert scan(project / "include", deployment="local").faults == ()
    assert scan(project / "include", deployment="compose").faults == ()
    told = run("check")
    assert "All specs are sound: 0 topics" in told
    assert "Next: `sluice new topic NAME --sample FILE`" in told


def test_a_topic_and_a_pipeline_can_be_added(project: Path) -> None:
    (project / "orders.jsonl").write_bytes(SAMPLE)
    run("new", "topic", "orders", "--sample", "orders.jsonl")
    run("new", "pipeline", "orders_per_hour", "--source", "orders")
    told = run("check")
    assert "1 topic, 1 pipeline" in told
    assert "declares no topic" not in told


def test_a_project_is_found_from_its_folders_and_nowhere_else(project: Path, tmp_path: Path) -> None:
    assert settings().home == project
    assert find_project(project / "include" / "topics") == project
    assert find_project(tmp_path) is None


@pytest.mark.parametrize(
    ("folder", "name"), [("shop", "shop"), ("My Shop.2", "my-shop-2"), ("_x_", "x"), ("été", "t"), ("", "project")]
)
def test_a_project_is_named_after_its_folder(folder: str, name: str) -> None:
    assert project_name(Path(folder)) == name


@pytest.mark.parametrize("name", ['say "shop"', "a `shop`", "'''", "shop!", "a:b"])
def test_a_folder_in_which_no_command_would_run_is_refused_before_anything_is_made(tmp_path: Path, name: str) -> None:
    with pytest.raises(RefusedError, match="its path cannot be used"):
        run("init", str(tmp_path / name))
    assert list(tmp_path.iterdir()) == []
