"""`sluice explain`: what a word means that Sluice gives as an answer, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from difflib import get_close_matches
from itertools import groupby
from typing import Annotated

import typer
from rich.table import Table

from sluice.cli.terminal.output import Output, OutputOption, emit, out, out_lines
from sluice.cli.words.codes import Code, codes, find
from sluice.errors import SpecError


def _words() -> list[str]:
    return [code.word for code in codes()]


def explain(
    word: Annotated[
        str,
        typer.Argument(help="Such as unit, LAGGING, late or 5; omitted: all.", autocompletion=_words),
    ] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Say what a word means that Sluice uses or gives as an answer, and what to do about it.

    Exit codes: 0; 2 there is no such word.
    """
    found = find(word) if word else list(codes())
    if not found:
        near = get_close_matches(word.lower(), [each.lower() for each in _words()], n=3)
        hint = f"did you mean {', '.join(near)}?" if near else "`sluice explain` lists all."
        raise SpecError(f"{word!r} is no word of Sluice's.", fix=hint)
    emit(output, [asdict(code) for code in found], lambda: _print_word(found) if word else _print_all(found))


def _print_word(found: Sequence[Code]) -> None:
    for code in found:
        out_lines.print(f"{code.word}, among the {code.kind}: {code.meaning}.")
        if code.what_to_do:
            out_lines.print(f"  What to do: {code.what_to_do}.")


def _print_all(found: Sequence[Code]) -> None:
    for kind, group in groupby(found, key=lambda code: code.kind):
        out.print(_table(kind, list(group)))


def _table(kind: str, group: list[Code]) -> Table:
    table = Table("word", "meaning", "what to do", title=kind, title_justify="left", box=None, pad_edge=False)
    for code in group:
        table.add_row(code.word, code.meaning, code.what_to_do)
    return table
