"""How the command line speaks: results on stdout, everything else on stderr, errors as one sentence with the fix."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import typer
import yaml

from sluice.cli.terminal.escaping import Terminal
from sluice.topics.legible import safe_lines

_UNBOUNDED = 10_000


class Output(StrEnum):
    """For whom a command writes."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"

    @property
    def for_programs(self) -> bool:
        """Whether a program reads it: then it is one document, and everything else goes to stderr."""
        return self is not Output.TABLE


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="For people, or for programs.")]

out = Terminal()
"""Results."""
err = Terminal(stderr=True)
"""Progress, notes and errors."""
out_lines = Terminal(soft_wrap=True, markup=False)
"""Results of which each is a line, however wide the terminal is, so that `grep` finds it."""
err_lines = Terminal(stderr=True, soft_wrap=True, markup=False)
"""Errors and notes of which each is a line."""


def terminal_for_data() -> Terminal:
    """Return where rows of data are printed: on a terminal what is too wide is folded, else each row is one line."""
    return Terminal(width=None if sys.stdout.isatty() else _UNBOUNDED, soft_wrap=True)


def emit(output: Output, data: Any, human: Callable[[], None]) -> None:  # noqa: ANN401  JSON is any
    """Print a command's result once.

    Args:
        output: the format that was asked for.
        data: the result as JSON values; for programs it is printed as one document on stdout.
        human: prints the result for people.
    """
    if output.for_programs:
        out.write(as_text(output, data))
    else:
        human()


def as_text(output: Output, data: Any) -> str:  # noqa: ANN401  JSON is any
    """Return data as the text of a document."""
    text = as_json(data, indent=2)
    if output is not Output.YAML:
        return f"{text}\n"
    document = yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True, width=120)
    if document != safe_lines(document):  # then YAML's own escapes, which a program reads back
        document = yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=False, width=120)
    return str(document)


def as_json(data: Any, indent: int | None = None) -> str:  # noqa: ANN401  JSON is any
    """Return data as JSON of printable ASCII."""
    return json.dumps(data, indent=indent, default=str).replace("\x7f", "\\u007f")  # the one that JSON leaves


def ask(words: str) -> str:
    """Ask the person at the terminal, and return what was typed; nothing if nobody types any more."""
    err_lines.print(words, end=" ")
    try:
        return input().strip()
    except EOFError:
        return ""
