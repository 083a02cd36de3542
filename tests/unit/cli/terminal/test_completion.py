"""What a shell completes: every name that Sluice knows, by the protocol that shells speak, from files alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from typer.core import TyperGroup

from sluice.alerts.journal import Journal
from sluice.cli.main import COMMANDS, app
from sluice.cli.terminal import completion
from sluice.control.database import migrate, open_database, sqlite_url
from sluice.settings import Settings
from tests.unit.alerts.examples import make_alert

FREE = {
    "new topic": {"name", "sample", "pattern", "message", "event_time", "arrival_time", "owner"},
    "new feed": {"name", "sample", "key", "arrival_time"},
    "new pipeline": {"name", "owner"},
    "run": {"sample"},
    "topics apply": {"plan"},
    "topics import": {"topics"},
    "topics tail": {"since", "key"},
    "topics send": {"file", "key"},
    "topics place": {"topology", "assignment"},
    "access apply": {"plan"},
    "mirror translate": {"offsets"},
    "streams reset": {"to"},
    "capacity plan": {"rate", "outage", "catch_up"},
    "backfill run": {"key"},
    "backfill accept": {"key"},
    "quarantine list": {"offsets"},
    "quarantine record": {"position"},
    "quarantine open": {"offsets"},
    "quarantine patch": {"pattern", "by"},
    "contracts fetch": {"registry", "subject"},
    "feed follow": {"duration", "until_idle"},
    "serve": {"host", "url"},
    "sql": {"statement"},
    "trace": {"topic_id"},
    "audit": {"who", "what"},
    "outputs roles": {"writer", "reader"},
}
"""What somebody has to make up, or only a cluster knows. Every other text is a name, and names are completed."""
NEVER = {"why"}
TABLES = "outputs:\n  - kind: latest\n    table: newest\n  - {table: 'sold', kind: latest}\n"


def commands(group: TyperGroup, path: str = "") -> Iterator[tuple[str, Any]]:
    for name in group.list_commands(typer.Context(group)):
        found: Any = group.get_command(typer.Context(group), name)
        where = f"{path} {name}".strip()
        if isinstance(found, TyperGroup):
            yield from commands(found, where)
        else:
            yield where, found


def is_text(annotation: Any) -> bool:  # noqa: ANN401 - a type
    return annotation is str or str in get_args(annotation)


def texts() -> Iterator[tuple[str, Any]]:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    for where, command in commands(root):
        for parameter in command.params:
            if is_text(getattr(getattr(parameter, "type_descriptor", None), "annotation", None)):
                yield where, parameter


def test_every_argument_that_names_something_is_completed() -> None:
    forgotten = [
        f"sluice {where}: {parameter.name}"
        for where, parameter in texts()
        if parameter.name not in FREE.get(where, set()) | NEVER and parameter._custom_shell_complete is None
    ]
    assert forgotten == [], "give these `autocompletion`, or say above why they cannot have it"


def test_every_parameter_that_needs_no_completion_exists() -> None:
    there = {(where, parameter.name) for where, parameter in texts()}
    assert {(where, name) for where, names in FREE.items() for name in names} <= there


@pytest.fixture
def project(tmp_path: Path) -> Settings:
    """Return a project with a sound topic, a broken pipeline and a case on record."""
    for folder, name, text in (
        ("topics", "orders", "name: orders\nraw: {table: orders_raw, driver: till}\n"),
        ("pipelines", "sales", f"name: sales\n  driver: 'counter'\n{TABLES}{{"),
        ("feeds", "orders_of_may", ""),
        ("access", "producer", "user: sluice-producer\n"),
    ):
        (tmp_path / "include" / folder).mkdir(parents=True)
        (tmp_path / "include" / folder / f"{name}.yaml").write_text(text)
    place = Settings(home=tmp_path)
    place.state.mkdir()
    (tmp_path / "include" / "alerts").mkdir()
    (tmp_path / "include" / "alerts" / "local.yaml").write_text("channels: {pager: {}, mail: {}}\n")
    for name in ("00a1", "00a2"):
        Journal(place.folder.alerts).append(make_alert(name))
    engine = open_database(sqlite_url(place.folder.control))
    migrate(engine)
    opened = datetime(2013, 1, 1, tzinfo=UTC)
    with engine.begin() as connection:
        for number in range(60):
            connection.exec_driver_sql(
                "INSERT INTO quarantine_case (deployment, id, pipeline, selection, positions, reasons, opened_at) "
                "VALUES (?, ?, 'sales', '{}', '[]', '[]', ?)",
                ("local", f"sales-{number:02}", str(opened + timedelta(hours=number))),
            )
    return place


def test_a_file_with_bytes_that_are_no_text_hides_no_user(project: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "settings", lambda: project)
    (project.home / "include" / "access" / "torn.yaml").write_bytes(b"description: \xff\xfe\nuser: sluice-torn\n")
    assert completion.users() == ["sluice-producer", "sluice-torn"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (completion.topics, ["orders"]),
        (completion.pipelines, ["sales"]),
        (completion.feeds, ["orders_of_may"]),
        (completion.principals, ["producer"]),
        (completion.users, ["sluice-producer"]),
        (completion.units, ["counter", "till"]),
        (completion.streams, ["raw_orders", "sales"]),
        (completion.tables, ["newest", "sold"]),
        (completion.backfills, []),
        (completion.contracts, []),
        (completion.alerts, ["00a2", "00a1"]),
        (completion.channels, ["mail", "pager"]),
    ],
)
def test_names_come_from_files_sound_or_broken(
    project: Settings, monkeypatch: pytest.MonkeyPatch, names: Callable[[], list[str]], expected: list[str]
) -> None:
    monkeypatch.setattr(completion, "settings", lambda: project)
    assert names() == expected


def test_cases_are_the_newest_of_the_deployment(project: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "settings", lambda: project)
    assert completion.cases() == [f"sales-{number:02}" for number in range(59, 9, -1)]
    monkeypatch.setattr(completion, "settings", lambda: project.model_copy(update={"deployment": "elsewhere"}))
    assert completion.cases() == []


def test_without_a_project_nothing_is_offered_and_nothing_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completion, "settings", lambda: Settings(home=tmp_path))
    for name in (
        "topics",
        "pipelines",
        "feeds",
        "principals",
        "users",
        "units",
        "streams",
        "contracts",
        "cases",
        "alerts",
        "channels",
    ):
        assert getattr(completion, name)() == [], name
    assert list(tmp_path.iterdir()) == []


def test_the_names_of_a_thousand_specs_complete_quickly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("topics", "pipelines"):
        (tmp_path / "include" / folder).mkdir(parents=True)
        for number in range(500):
            text = f"name: n{number}\n" + "# what it is\n" * 60 + f"driver: d{number}\n"
            (tmp_path / "include" / folder / f"n{number}.yaml").write_text(text)
    monkeypatch.setattr(completion, "settings", lambda: Settings(home=tmp_path))
    began = time.process_time()
    assert len(completion.units()) == 500
    assert len(completion.streams()) == 1000
    assert time.process_time() - began < 0.3


def completed(place: Path, words: str) -> list[str]:
    """Press Tab after these words."""
    environment = {
        **os.environ,
        "_SLUICE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
        "SLUICE_HOME": str(place),
    }
    answer = subprocess.run(
        [str(Path(sys.executable).with_name("sluice"))],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert answer.stderr == ""
    return answer.stdout.split()


def test_a_shell_is_answered(project: Settings) -> None:
    assert completed(project.home, "sluice streams show ") == ["counter", "till"]
    assert completed(project.home, "sluice streams show t") == ["till"]
    assert completed(project.home, "sluice quarantine show sales-1") == [f"sales-{n}" for n in range(19, 9, -1)]
    assert completed(project.home, "sluice new pipeline fresh --source ") == ["orders"]
    assert completed(project.home / "nothing", "sluice topics describe ") == []


def test_the_first_word_is_completed_without_importing_any_command(project: Settings) -> None:
    assert completed(project.home, "sluice qua") == ["quality", "quarantine"]
    assert len(completed(project.home, "sluice ")) == len(COMMANDS)
    code = (
        "import sys, typer; from sluice.cli.main import app; root = typer.main.get_command(app); "
        "found = root.shell_complete(typer.Context(root), 's'); "
        "print([item.value for item in found], [name for name in sys.modules if name.startswith('sluice.cli.')])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "'streams'" in said
    assert "sluice.cli.streams" not in said


def test_no_command_whose_names_are_completed_imports_a_foreign_system() -> None:
    modules = sorted(set(_modules_with_names()))
    assert "sluice.cli.feed" in modules
    code = f"import sys\nfor name in {modules!r}: __import__(name)\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"airflow", "pyspark", "kafka", "pandas"} & set(loaded) == set()


def _modules_with_names() -> Iterator[str]:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    for _, command in commands(root):
        if any(parameter._custom_shell_complete for parameter in command.params):
            yield command.callback.__module__
