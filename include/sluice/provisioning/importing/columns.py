"""A sample of lines with a delimiter and a header: its columns. Lines are split as a topic's records are. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sluice.errors import SpecError
from sluice.provisioning.importing.nested import distinct_names
from sluice.provisioning.importing.texts import guess_of
from sluice.specs.model.model import FieldType
from sluice.topics.printable import printable_bytes
from sluice.values.delimited import split_line
from sluice.wording import counted, listed

DELIMITERS = (",", ";", "\t", "|")
_WORDS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
_MOST_SHOWN, _SHOWN_BYTES = 5, 40
_Row = list[str | None]


@dataclass(frozen=True)
class DelimitedSample:
    """Lines with a delimiter.

    Attributes:
        delimiter: the one character between columns.
        columns: a name for each column, in their order; each is there once.
        headers: what the header calls each of them.
        rows: the parts of each record; None for one that is empty and not quoted.
        notes: what a reader of the spec should know of the sample, in clauses.
    """

    delimiter: str
    columns: tuple[str, ...]
    headers: tuple[str, ...]
    rows: tuple[Sequence[str | None], ...]
    notes: tuple[str, ...]

    def values(self, place: int) -> list[str]:
        """Return the texts that a column has, in their order."""
        return [text for row in self.rows if (text := row[place]) is not None]


def read_delimited(lines: Sequence[str], *, forced: bool = False) -> DelimitedSample | None:
    """Return the columns of a sample; None if it is none with a delimiter and a header.

    Args:
        lines: of the file, the header first, without line ends.
        forced: whether the caller says that it is one, so that anything else is a fault.

    Raises:
        SpecError: it is one with faults: lines of other lengths, no header, no record.
    """
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    delimiter = _delimiter(numbered)
    if delimiter is None:
        if forced:
            known = ", ".join(_WORDS.values())
            raise SpecError(
                f"no delimiter divides the first line of the sample into columns; known are {known}.",
                fix="put a header with the names of all columns into the first line.",
            )
        return None
    split = [(number, split_line(line, delimiter)) for number, line in numbered]
    header = split[0][1] or []
    fitting = [row for _, row in split[1:] if row is not None and len(row) == len(header)]
    if not forced and len(fitting) * 2 < len(split) - 1:
        return None
    _refuse_ragged(split, len(header), delimiter)
    if not fitting:
        raise SpecError("the sample has a header, and no line below it.", fix="add some records.")
    headers = tuple((cell or "").strip() for cell in header)
    _refuse_no_header(headers)
    columns = tuple(distinct_names(headers, "column"))
    notes = (*_renamed(columns, headers), *_blank(len(lines) - len(numbered)))
    return DelimitedSample(delimiter, columns, headers, tuple(fitting), notes)


def _delimiter(numbered: Sequence[tuple[int, str]]) -> str | None:
    """Return the delimiter that divides the header, and most lines as it does; of several the one with most columns."""
    scored: list[tuple[int, int, str]] = []
    for delimiter in DELIMITERS:
        lengths = [len(row) if (row := split_line(line, delimiter)) is not None else 0 for _, line in numbered]
        if lengths and lengths[0] > 1:
            scored.append((sum(length == lengths[0] for length in lengths), lengths[0], delimiter))
    return max(scored, key=lambda each: each[:2])[2] if scored else None


def _refuse_ragged(split: Sequence[tuple[int, _Row | None]], columns: int, delimiter: str) -> None:
    wrong = [
        (number, "broken quotes" if row is None else counted(len(row), "column"))
        for number, row in split
        if row is None or len(row) != columns
    ]
    if not wrong:
        return
    shown = listed([f"line {number} ({what})" for number, what in wrong], _MOST_SHOWN, "lines")
    fix = f"give each line {columns} columns"
    if any(row is None for _, row in split):
        fix += ", close each quote in its line (a record is one line), and double a quote inside quotes"
    between = f"{_WORDS[delimiter]} between them"
    raise SpecError(f"the header has {columns} columns with {between}, and these have not: {shown}.", fix=f"{fix}.")


def _refuse_no_header(headers: Sequence[str]) -> None:
    """A number or a time is no name: the first line would be lost as a record."""
    data = [f"column {place} ({_shown(cell)!r})" for place, cell in enumerate(headers, 1) if cell and _is_value(cell)]
    if data or not any(headers):
        what = f"it has values and no names in {listed(data, _MOST_SHOWN)}" if data else "it names no column"
        raise SpecError(
            f"line 1 of the sample is no header: {what}.",
            fix="write the names of the columns into a line above the records, for the sample only.",
        )


def _is_value(cell: str) -> bool:
    guess = guess_of("", [cell])
    return guess.open_order or FieldType(guess.declared["type"]) is not FieldType.STRING


def _renamed(columns: Sequence[str], headers: Sequence[str]) -> list[str]:
    notes = []
    counts = Counter(headers)
    if twice := [_shown(header) for header, count in counts.items() if header and count > 1]:
        notes.append(f"the header has a name more than once, and each column another here: {listed(twice)}")
    pairs = [
        f"{name} (column {place}{f', {_shown(header)!r}' if header else ', without a name'})"
        for place, (name, header) in enumerate(zip(columns, headers, strict=True), 1)
        if name != header
    ]
    return [*notes, f"named otherwise than in the header: {listed(pairs, len(pairs))}"] if pairs else notes


def _shown(cell: str) -> str:
    return printable_bytes(cell.encode(), _SHOWN_BYTES)


def _blank(count: int) -> list[str]:
    return [f"{counted(count, 'empty line')} in the sample: a record without bytes is quarantined"] if count else []
