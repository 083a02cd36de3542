"""Whatever data holds, the terminal gets text and our own colours, and no command that somebody else wrote."""

from __future__ import annotations

import ast
import json
import sys
import unicodedata
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rich.markup import escape
from rich.progress import Progress, TextColumn
from rich.status import Status
from rich.table import Table
from rich.text import Text

import sluice
from sluice.cli import main
from sluice.cli.stack.logs import _followed, logs
from sluice.cli.terminal import user
from sluice.cli.terminal.escaping import Guard, Terminal, guard_standard_streams
from sluice.cli.terminal.output import Output, as_json, as_text, ask, err
from sluice.errors import RefusedError
from sluice.settings import settings

CONTROLS = st.sampled_from([chr(code) for code in (*range(32), *range(0x7F, 0xA0), *range(0x200B, 0x2010))]) | (
    st.sampled_from([*"\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff\u061c\U000e0001\u2028\u2029"])
)
COMMANDS = st.sampled_from(
    ["\x1b[31m", "\x1b]0;title\x07", "\x1b]52;c;cm0gLXJm\x1b\\", "\x1b[2J", "\x9b2J", "\x1b[8m", "\r", "\b\b", "[red]"]
)
HOSTILE = st.lists(st.text(max_size=8) | CONTROLS | COMMANDS, max_size=8).map("".join)


def commands_in(text: str) -> set[str]:
    """Return the characters that a terminal, or whoever reads it, would not take for text."""
    return {c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and c not in "\n\t"}


def table_of(text: str) -> Table:
    table = Table(escape(text) or "x", title=escape(text), box=None)
    table.add_row(escape(text))
    table.add_row(Text(text))
    return table


WAYS: dict[str, Callable[[Terminal, str], Any]] = {
    "line": lambda terminal, text: terminal.print(text, markup=False, soft_wrap=True),
    "folded line": lambda terminal, text: terminal.print(text, markup=False),
    "markup": lambda terminal, text: terminal.print(f"[bold]{escape(text)}[/bold]"),
    "style": lambda terminal, text: terminal.print(text, markup=False, style="red"),
    "text": lambda terminal, text: terminal.print(Text(text)),
    "table": lambda terminal, text: terminal.print(table_of(text)),
    "as it is": lambda terminal, text: terminal.write(text),
    "json": lambda terminal, text: terminal.write(as_text(Output.JSON, {text: [text]})),
    "yaml": lambda terminal, text: terminal.write(as_text(Output.YAML, {text: [text]})),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@given(text=HOSTILE)
def test_no_control_character_of_data_is_printed(way: Callable[[Terminal, str], Any], text: str) -> None:
    terminal = Terminal(file=StringIO(), width=80)
    way(terminal, text)
    assert commands_in(cast("StringIO", terminal.file).getvalue()) == set()


def test_our_colours_are_sent_and_those_of_data_are_shown() -> None:
    terminal = Terminal(file=StringIO(), width=80, force_terminal=True, color_system="standard")
    data = escape("bad \x1b[32mgreen")
    terminal.print(f"[red]{data}[/red]")
    assert cast("StringIO", terminal.file).getvalue() == "\x1b[31mbad \\x1b[32mgreen\x1b[0m\n"


def test_columns_stay_straight_beside_an_escaped_value() -> None:
    terminal, table = Terminal(file=StringIO(), width=80), Table("a", "b", box=None, pad_edge=False)
    table.add_row("x\x1b[31my", "1")
    table.add_row("longer", "2")
    terminal.print(table)
    assert [line.rstrip() for line in cast("StringIO", terminal.file).getvalue().splitlines()] == [
        "a           b",
        "x\\x1b[31my  1",
        "longer      2",
    ]


@given(text=HOSTILE)
def test_a_bar_and_a_spinner_move_the_cursor_and_show_no_command_of_data(text: str) -> None:
    file = StringIO()
    terminal = Terminal(file=file, width=80, force_terminal=True, color_system=None, legacy_windows=False)
    with Progress(TextColumn("{task.description}", markup=False), console=terminal, auto_refresh=False) as bar:
        bar.add_task(text, total=1)
    status = Status("", console=terminal)
    status.update(escape(text))
    terminal.print(status)
    ours = file.getvalue()
    for movement in ("\x1b[?25l", "\x1b[?25h", "\r\x1b[2K", "\x1b[1A\x1b[2K", "\x1b[1A", "\x1b[2K"):
        ours = ours.replace(movement, "")
    assert commands_in(ours.replace("\r", "")) == set()


@given(value=st.dictionaries(HOSTILE, HOSTILE | st.integers() | st.none(), max_size=4))
def test_a_program_reads_back_what_was_there(value: dict[str, Any]) -> None:
    document = as_text(Output.JSON, value)
    assert commands_in(document) == set()
    assert json.loads(document) == json.loads(as_json(value)) == value
    printable = {k.encode(errors="replace").decode(): v for k, v in value.items() if v is None or isinstance(v, int)}
    assert yaml.safe_load(as_text(Output.YAML, printable)) == printable


def test_yaml_of_sound_text_keeps_its_letters() -> None:
    assert as_text(Output.YAML, {"name": "Zürich"}) == "name: Zürich\n"
    assert as_text(Output.YAML, {"name": "Zürich\u202e"}) == 'name: "Z\\xFCrich\\u202E"\n'


@given(text=HOSTILE)
def test_what_passes_a_terminal_by_meets_the_guard(text: str) -> None:
    stream = StringIO()
    written = Guard(stream).write(text)
    assert written == len(text)
    left = stream.getvalue()
    assert commands_in(left) <= {"\x1b"}
    assert left.count("\x1b") == left.count("\x1b[")  # colours, by which click and rich write help


def test_a_guarded_stream_is_guarded_once_and_still_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    guard_standard_streams()
    guard_standard_streams()
    sys.stdout.writelines(["a\x9b\n"])
    err.print("b\x9b")
    assert stream.getvalue() == "a\\x9b\nb\\x9b\n"
    assert not sys.stdout.isatty()


def test_an_argument_that_is_refused_is_shown_and_not_sent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["sluice", "sql", "--no\x1b]0;x\x07\u202e"])
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    with pytest.raises(SystemExit) as end:
        main.main()
    assert end.value.code == 2
    said = "".join(capsys.readouterr())
    assert "\\x1b]0;x\\x07" in said
    assert commands_in(said) == set()


def test_a_confirmation_shows_what_is_to_be_typed_and_sends_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO("orders\x1b[2J\n"))
    assert ask("Type orders\x1b[2J to do it:") == "orders\x1b[2J"
    monkeypatch.setattr(user, "interactive", lambda: True)
    with pytest.raises(RefusedError, match="not confirmed"):  # nobody types any more
        user.confirm("orders\x1b[2J", yes=False)
    out, said = capsys.readouterr()
    assert commands_in(out + said) == set()
    assert "orders\\x1b[2J to do it: " in said


def test_a_log_is_shown_without_the_commands_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    log = settings().folder.logs / "airflow.log"
    log.parent.mkdir(parents=True)
    log.write_text("a \x1b[31mred\x1b[0m word\nbroken \x1b]0;title\x07 \x85 \u202eend\n", encoding="utf-8")
    logs("airflow", lines=9, follow=False)
    assert capsys.readouterr().out == "a red word\nbroken \\x1b]0;title\\x07 \\x85 \\u202eend\n"
    following = _followed(log, 9)
    assert next(following) == "a \x1b[31mred\x1b[0m word\n"
    following.close()


CLI = Path(sluice.__file__).parent / "cli"
OWN = {"escaping.py"}
STREAMS = {"sys.stdout.write", "sys.stderr.write", "sys.stdout.buffer", "sys.stderr.buffer", "os.write"}
FORBIDDEN = {"echo", "secho", "prompt", "confirm", "print_exception", "print_json", "getpass", "breakpoint"}


def writes_past_the_terminal(path: Path) -> list[str]:
    """Return the calls of a module by which text reaches the terminal without having been escaped."""
    found = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in {
            "sys.stdout.write",
            "sys.stderr.write",
            "os.write",
        }:
            found.append(ast.unparse(node))
        if not isinstance(node, ast.Call):
            continue
        called, given = ast.unparse(node.func), {keyword.arg for keyword in node.keywords}
        if called in {"print", "input", "Console"} or called in {f"typer.{name}" for name in FORBIDDEN}:
            found.append(called)
        if called.startswith("subprocess.") and not given & {"capture_output", "stdout"}:
            found.append(called)  # a child would write to our terminal itself
    return found


def test_every_command_writes_through_the_terminal() -> None:
    modules = [path for path in sorted(CLI.rglob("*.py")) if path.name not in OWN]
    assert len(modules) > 40
    found = {path.name: calls for path in modules if (calls := writes_past_the_terminal(path))}
    assert found == {"output.py": ["input"]}  # after the prompt was printed


@pytest.mark.parametrize(
    "line", ["print('x')", "typer.echo('x')", "rich.console.x; Console()", "sys.stderr.write(x)", "subprocess.run(x)"]
)
def test_the_search_finds_what_it_searches_for(tmp_path: Path, line: str) -> None:
    (tmp_path / "module.py").write_text(line)
    assert writes_past_the_terminal(tmp_path / "module.py")
