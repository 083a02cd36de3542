"""`sluice explain`: the meaning of a word that Sluice uses or prints, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from difflib import get_close_matches
from itertools import groupby
from typing import Annotated

import typer
from rich.table import Table

from sluice.cli.glossary.entries import GlossaryEntry, entries, find
from sluice.cli.terminal.output import Output, OutputOption, emit, out, out_lines
from sluice.errors import SpecError


def _words() -> list[str]:
    return [entry.word for entry in entries()]


def explain(
    word: Annotated[
        str,
        typer.Argument(help="Such as unit, LAGGING, late or 5. Default: all words.", autocompletion=_words),
    ] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Explain a word that Sluice uses or prints, and what to do about it.

    Exit codes: 0; 2 the word is unknown.
    """
    matching = find(word) if word else list(entries())
    if not matching:
        near = get_close_matches(word.lower(), [each.lower() for each in _words()], n=3)
        hint = f"did you mean {', '.join(near)}?" if near else "`sluice explain` lists all words."
        raise SpecError(f"The glossary has no word {word!r}.", fix=hint)
    emit(output, [asdict(entry) for entry in matching], lambda: _print_word(matching) if word else _print_all(matching))


def _print_word(matching: Sequence[GlossaryEntry]) -> None:
    for entry in matching:
        out_lines.print(f"{entry.word} ({entry.kind}): {entry.meaning}.")
        if entry.what_to_do:
            out_lines.print(f"  What to do: {entry.what_to_do}.")


def _print_all(matching: Sequence[GlossaryEntry]) -> None:
    for kind, group in groupby(matching, key=lambda entry: entry.kind):
        table = Table("word", "meaning", "what to do", title=kind, title_justify="left", box=None, pad_edge=False)
        for entry in group:
            table.add_row(entry.word, entry.meaning, entry.what_to_do)
        out.print(table)
