"""Every command that changes something is in the audit log, and none that only reads."""

from __future__ import annotations

import getpass
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from sluice.audit.act import Act, ActOutcome
from sluice.audit.log import AuditLog
from sluice.cli.main import app
from sluice.cli.terminal.acts import ACTS, record_acts
from sluice.errors import RefusedError
from tests.unit.specs.bench import sound_project

READING = """
init status doctor check run logs graph trace sql explain docs console audit
new topic|new pipeline|new feed
topics plan|topics check|topics import|topics describe|topics tail|topics place
access plan|access list
streams list|streams show|streams logs
intervals list|intervals show|outputs roles
backfill plan|backfill status|backfill list
capacity plan|capacity cost
quality check|quality show|quality suggest
quarantine list|quarantine record|quarantine cases|quarantine show
contracts list|contracts drift|contracts fetch|contracts publish
feed check|feed manifest
alerts open|alerts show
proofs list|proofs show
mirror status|mirror lag|mirror logs|mirror translate|mirror rehearse
"""
"""What changes nothing, or only files of the project, which its repository keeps."""


def leaves(command: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401 - the same
    names = command.list_commands(None) if hasattr(command, "list_commands") else []
    for name in names:
        inner = command.get_command(None, name)
        yield from leaves(inner, f"{path} {name}".strip())
    if not names:
        yield path


def test_each_command_is_an_act_or_only_reads() -> None:
    first, *groups = READING.strip().splitlines()
    reading = {*first.split(), *(name for group in groups for name in group.split("|"))}
    assert not reading & set(ACTS)
    assert set(leaves(typer.main.get_command(app))) == reading | set(ACTS)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path / "state"))
    (tmp_path / "state").mkdir()
    return tmp_path / "state"


def acts(state: Path) -> tuple[Act, ...]:
    return AuditLog(state / "audit").read().acts


def command_of(function: Callable[..., object], path: str) -> Any:  # noqa: ANN401 - typer's own click is private
    """Return a command that is recorded under a path of ours."""
    single = typer.Typer()
    single.command()(function)
    command = typer.main.get_command(single)
    record_acts(command, path)
    return command


def test_an_act_is_recorded_with_the_user_and_what_was_given(state: Path) -> None:
    def stop(unit: str, why: str = "", *, output: str = "table") -> None:
        assert (unit, why, output) == ("flights", "maintenance", "json")

    command_of(stop, "streams stop").main(
        ["flights", "--why", "maintenance", "--output", "json"], standalone_mode=False
    )
    (act,) = acts(state)
    assert (act.who, act.through, act.deployment) == (getpass.getuser(), "command line", "local")
    assert (act.what, dict(act.arguments)) == ("streams stop", {"unit": "flights", "why": "maintenance"})
    assert act.outcome is ActOutcome.DONE


def test_an_act_that_is_refused_is_recorded_and_the_error_is_passed_on(state: Path) -> None:
    def start(unit: str) -> None:
        raise RefusedError(f"{unit} runs.")

    with pytest.raises(RefusedError, match="flights runs"):
        command_of(start, "streams start").main(["flights"], standalone_mode=False)
    (act,) = acts(state)
    assert (act.outcome, act.detail) == (ActOutcome.REFUSED, "RefusedError: flights runs.")


def test_an_act_that_replaces_its_process_has_its_end_on_record_before(state: Path) -> None:
    def serve() -> Callable[[], None]:
        return lambda: found.extend(acts(state))

    found: list[Act] = []
    command_of(serve, "serve").main([], standalone_mode=False)
    assert [(act.what, act.outcome) for act in found] == [("serve", ActOutcome.DONE)]


def test_a_command_that_may_only_show_is_an_act_where_it_does_more(state: Path) -> None:
    def upgrade(unit: str, *, promote: bool = False) -> None:
        done.append((unit, promote))

    done: list[tuple[str, bool]] = []
    command = command_of(upgrade, "streams upgrade")
    command.main(["flights"], standalone_mode=False)
    assert acts(state) == ()
    command.main(["flights", "--promote"], standalone_mode=False)
    assert [dict(act.arguments) for act in acts(state)] == [{"unit": "flights", "promote": "True"}]
    assert done == [("flights", False), ("flights", True)]


def test_the_command_line_records_its_acts_and_shows_them(tmp_path: Path) -> None:
    sound_project(tmp_path)
    (tmp_path / "state").mkdir()
    code = "from sluice.cli.main import main; main()"
    environment = {**os.environ, "SLUICE_HOME": str(tmp_path), "SLUICE_STATE": str(tmp_path / "state")}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, *arguments]
        environment["SLUICE_DEPLOYMENT"] = "prod"
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)

    refused = run("streams", "resume", "shop", "--why", "https://ada:hunter22@host/ticket")
    assert refused.returncode == 5, refused.stderr
    assert run("streams", "list").returncode == 0
    shown = json.loads(run("audit", "-o", "json").stdout)
    (act,) = shown["acts"]
    assert (act["what"], act["outcome"], act["deployment"]) == ("streams resume", "refused", "prod")
    assert act["arguments"] == {"unit": "shop", "why": "https://ada:***@host/ticket"}
    assert shown["notes"] == []
    with (tmp_path / "state" / "audit" / "audit-00000001.jsonl").open("ab") as file:
        file.write(b'{"torn')
    table = run("audit", "--who", act["who"], "--since", "2020-01-01")
    assert "streams resume" in table.stdout
    assert "unit=shop" in table.stdout
    assert "audit-00000001.jsonl:3 is torn or no act; it was left out." in table.stderr
    for nobody in (("--who", "nobody"), ("--since", "2999-01-01"), ("--what", "topics")):
        assert run("audit", *nobody).stdout == "No such act is on record.\n"
