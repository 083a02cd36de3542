"""`sluice explain`: the meaning of a term that Sluice uses or prints, and what to do about it."""

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


def _terms() -> list[str]:
    return [entry.term for entry in entries()]


def explain(
    term: Annotated[
        str,
        typer.Argument(help="Such as unit, LAGGING, late or 5. Default: all terms.", autocompletion=_terms),
    ] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Explain a term that Sluice uses or prints, and what to do about it.

    Exit codes: 0; 2 the term is unknown.
    """
    matching = find(term) if term else list(entries())
    if not matching:
        near = get_close_matches(term.lower(), [each.lower() for each in _terms()], n=3)
        hint = f"did you mean {', '.join(near)}?" if near else "`sluice explain` lists all terms."
        raise SpecError(f"The glossary has no term {term!r}.", fix=hint)
    emit(output, [asdict(entry) for entry in matching], lambda: _print_term(matching) if term else _print_all(matching))


def _print_term(matching: Sequence[GlossaryEntry]) -> None:
    for entry in matching:
        out_lines.print(f"{entry.term} ({entry.kind}): {entry.meaning}.")
        if entry.what_to_do:
            out_lines.print(f"  What to do: {entry.what_to_do}.")


def _print_all(matching: Sequence[GlossaryEntry]) -> None:
    for kind, group in groupby(matching, key=lambda entry: entry.kind):
        table = Table("term", "meaning", "what to do", title=kind, title_justify="left", box=None, pad_edge=False)
        for entry in group:
            table.add_row(entry.term, entry.meaning, entry.what_to_do)
        out.print(table)
