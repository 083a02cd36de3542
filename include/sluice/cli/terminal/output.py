"""Output of commands: results on stdout, everything else on stderr, errors as one message with the fix."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer
import yaml

from sluice.cli.terminal.escaping import Terminal
from sluice.topics.printable import printable_lines

_UNBOUNDED = 10_000


class Output(StrEnum):
    """The format of a command's result."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"

    @property
    def for_programs(self) -> bool:
        """Whether the result is one document for a program."""
        return self is not Output.TABLE


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="A table for people; JSON or YAML for programs.")]

out = Terminal()
"""Results."""
err = Terminal(stderr=True)
"""Progress, notes and errors."""
out_lines = Terminal(soft_wrap=True, markup=False)
"""Results that are one line each, never wrapped, so that `grep` finds them."""
err_lines = Terminal(stderr=True, soft_wrap=True, markup=False)
"""Errors and notes that are one line each, never wrapped."""


def terminal_for_data() -> Terminal:
    """Return a terminal for rows of data: a tty folds wide rows, anything else gets one line per row."""
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
    if document != printable_lines(document):  # a program reads YAML's own escapes back
        document = yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=False, width=120)
    return str(document)


def as_json(data: Any, indent: int | None = None) -> str:  # noqa: ANN401  JSON is any
    """Return data as JSON of printable ASCII."""
    return json.dumps(data, indent=indent, default=str).replace("\x7f", "\\u007f")  # JSON does not escape this one


def print_fields(fields: Mapping[str, str], width: int = 8) -> None:
    """Print names with their texts, one per line; those without a text are omitted."""
    for name, text in fields.items():
        if text:
            out_lines.print(f"  {name:<{width}} {text}")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 row` or `2 rows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def ask(words: str) -> str:
    """Prompt the user, and return the answer; empty at the end of the input."""
    err_lines.print(words, end=" ")
    try:
        return input().strip()
    except EOFError:
        return ""
