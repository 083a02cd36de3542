"""The page of the command line: every command with its arguments, options and exit codes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

import typer
from typer.core import TyperGroup

from generate.markdown import code, paragraphs, table
from sluice.cli.main import app
from sluice.errors import exit_codes

_HEAD = """# The command line

Made from the code by `make references`; `sluice <command> --help` prints the section of a command.
`sluice explain <term>` explains a word of the output ([all words](../codes.md)).

`--output json` or `yaml` writes one document on stdout and everything else on stderr. `NO_COLOR` turns colours off.
`sluice --install-completion` lets the shell complete commands, options, and declared and recorded names.
`sluice --version` prints the version.

## Exit codes
"""
_HIDDEN = {"help", "install_completion", "show_completion"}
_TYPES: dict[Any, str] = {str: "text", int: "number", float: "number", bool: "", datetime: "time", Path: "path"}


def commands_page() -> str:
    """Return the page."""
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)  # noqa: S101 - `sluice` has commands
    codes = table(
        ("code", "meaning", "what to do"),
        ((code(str(number)), meaning, todo) for number, (meaning, todo) in exit_codes().items()),
    )
    return "\n".join([_HEAD, codes, "", *_sections(root, "sluice", 2)]).rstrip() + "\n"


def _sections(group: TyperGroup, path: str, level: int) -> Iterator[str]:
    for name in group.list_commands(typer.Context(group)):
        found: Any = group.get_command(typer.Context(group), name)
        where = f"{path} {name}"
        yield f"{'#' * level} {where}\n"
        for paragraph in paragraphs(found.help or ""):
            yield f"{paragraph}\n"
        if isinstance(found, TyperGroup):
            if found.invoke_without_command:
                yield from _alone(found, where)
            yield from _sections(found, where, level + 1)
        else:
            yield from _command(found, where)


def _alone(group: Any, where: str) -> Iterator[str]:  # noqa: ANN401 - see `_command`
    """Return what a group does without a command of it."""
    for paragraph in paragraphs(inspect.getdoc(group.callback) or ""):
        yield f"{paragraph}\n"
    yield from _command(group, where)


def _command(command: Any, where: str) -> Iterator[str]:  # noqa: ANN401 - typer's own click is private
    shown = [parameter for parameter in command.params if parameter.name not in _HIDDEN]
    arguments = [_argument(each) for each in shown if each.param_type_name == "argument"]
    options = [each for each in shown if each.param_type_name == "option"]
    usage = " ".join([where, *arguments, *(["[OPTIONS]"] if options else [])])
    yield f"```\n{usage}\n```\n"
    if shown:
        rows = [
            (code(_names(each)), _values(each), code(_default(each)), each.help or "")
            for each in [*(each for each in shown if each not in options), *options]
        ]
        yield table(("argument or option", "value", "default", "meaning"), rows) + "\n"


def _argument(parameter: Any) -> str:  # noqa: ANN401 - see `_command`
    name = _bare(parameter.metavar or parameter.name.upper())
    shown = name if parameter.required else f"[{name}]"
    return f"{shown}..." if parameter.nargs < 0 else shown


def _bare(metavar: str) -> str:
    """Return the name of a value without brackets around all of it; those of a part of it stay."""
    name = metavar.removesuffix("...")
    return name[1:-1] if name.startswith("[") and name.endswith("]") and name.count("[") == 1 else name


def _names(parameter: Any) -> str:  # noqa: ANN401 - see `_command`
    if parameter.param_type_name == "argument":
        return _argument(parameter)
    return ", ".join([*parameter.opts, *parameter.secondary_opts])


def _values(parameter: Any) -> str:  # noqa: ANN401 - see `_command`
    required = "required" if parameter.required else ""
    annotation = parameter.type_descriptor.annotation
    several = get_origin(annotation) is list or any(get_origin(part) is list for part in get_args(annotation))
    kind = next((each for each in _innermost(annotation) if each is not type(None)), str)
    if isinstance(kind, type) and issubclass(kind, Enum):
        value = ", ".join(code(str(member.value)) for member in kind)
    else:
        value = parameter.metavar or _TYPES.get(kind, "text")
        value = code(_bare(value)) if parameter.metavar and parameter.param_type_name == "option" else value
        value = "" if parameter.metavar and parameter.param_type_name == "argument" else value
    low, high = parameter.min, parameter.max
    bounds = f"at least {low}" if low is not None and high is None else f"{low} to {high}" if high is not None else ""
    return "; ".join(filter(None, [value, bounds, "several" if several else "", required]))


def _innermost(annotation: Any) -> Iterator[Any]:  # noqa: ANN401 - a type
    parts = get_args(annotation)
    if not parts:
        yield annotation
    for part in parts:
        yield from _innermost(part)


def _default(parameter: Any) -> str:  # noqa: ANN401 - see `_command`
    default = parameter.default
    if parameter.required or default is None or default == "" or callable(default):
        return ""
    if isinstance(default, bool):
        return ("on" if default else "") if parameter.secondary_opts or default else ""
    if isinstance(default, datetime):
        return default.date().isoformat()
    return str(default.value if isinstance(default, Enum) else default)
