from __future__ import annotations

import configparser
import shlex
from pathlib import Path

import pytest
from supervisor.options import ServerOptions

from sluice.devstack.supervision import Program, Supervisor, last_lines
from tests.twins.clock import ManualClock


def render(folder: Path, *programs: Program, identity: str = "x") -> str:
    return Supervisor(folder / "supervisor", folder / "logs", ManualClock())._render(programs, identity)


def test_supervisord_reads_a_command_as_it_was_meant(tmp_path: Path) -> None:
    command = ("java", "-Dname=a b", "100%", "it's", "/jars/*", "/a ;b #c 'd ;e")
    text = render(tmp_path / "50% full ;now #1", Program("broker", command, 30))
    parser = configparser.RawConfigParser(inline_comment_prefixes=(";", "#"), strict=False)
    parser.read_string(text)
    section = parser["program:broker"]
    assert tuple(shlex.split(section["command"].replace("%%", "%"))) == command
    assert section["stdout_logfile"] == "../logs/broker.log"


def test_supervisord_accepts_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "100% Zoë's ;now #1"
    for folder in ("logs", "supervisor"):
        (place / folder).mkdir(parents=True)
    path = place / "supervisor" / "supervisord.conf"
    path.write_text(render(place, Program("a", ("sleep", "100%"), 5), Program("b", ("sleep", "1"), 7)))
    monkeypatch.chdir(path.parent)
    options = ServerOptions()
    options.realize(args=["-c", str(path)])
    programs = {group.name: group.process_configs[0] for group in options.process_group_configs}
    assert programs["a"].command == "sleep 100%"
    assert Path(programs["a"].stdout_logfile).resolve() == place / "logs" / "a.log"
    assert options.logfile == str(place / "logs" / "supervisord.log")
    assert (programs["a"].stopwaitsecs, programs["b"].stopwaitsecs) == (5, 7)
    assert all(program.killasgroup and not program.autostart for program in programs.values())


def test_another_identity_makes_another_configuration(tmp_path: Path) -> None:
    program = Program("a", ("sleep", "1"), 5)
    assert render(tmp_path, program, identity="x") == render(tmp_path, program, identity="x")
    assert render(tmp_path, program, identity="x") != render(tmp_path, program, identity="y")


def test_a_socket_path_that_the_kernel_would_refuse_is_moved(tmp_path: Path) -> None:
    short = Supervisor(Path("/state/supervisor"), tmp_path, ManualClock())
    long = Supervisor(Path("/" + "x" * 120), tmp_path, ManualClock())
    other = Supervisor(Path("/" + "y" * 120), tmp_path, ManualClock())
    assert short._socket == Path("/state/supervisor/supervisor.sock")
    assert len(str(long._socket)) < 100
    assert long._socket != other._socket


def test_a_supervisor_that_was_never_started_is_not_up(tmp_path: Path) -> None:
    assert not Supervisor(tmp_path, tmp_path, ManualClock()).is_up()


def test_the_last_lines_of_a_log_are_those_that_say_something(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    assert last_lines(log) == []
    log.write_text("one\n\ntwo\n   \nthree\n")
    assert last_lines(log, 2) == ["two", "three"]
    assert last_lines(log, 0) == []
