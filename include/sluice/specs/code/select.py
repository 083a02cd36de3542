"""A transform in SQL: one SELECT in a file, read and never run.

Spark runs the text as it is written. sqlglot parses it for the rules that are asked before Spark starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from sluice.specs.reading.faults import Fault, SpecFaults, position

_SPARK = Dialect.get_or_raise("spark")


@dataclass(frozen=True)
class Select:
    """One SELECT, with what it stands on.

    Attributes:
        file: the name that faults show.
        text: all of the file.
        tree: sqlglot's.
        tokens: the words and signs of the text, comments left out.
    """

    file: str
    text: str
    tree: exp.Query
    tokens: tuple[Token, ...]

    @classmethod
    def read(cls, path: Path, file: str = "") -> Select:
        """Read a file.

        Args:
            path: the file.
            file: the name that faults show; omitted: the path as given.

        Raises:
            SpecFaults: it cannot be read, or holds anything but one SELECT.
        """
        name = file or path.as_posix()
        try:
            return cls.of(path.read_bytes().decode(), name)
        except (OSError, UnicodeDecodeError) as error:
            raise SpecFaults([Fault(name, 1, "", f"cannot be read as SQL: {error}.")]) from error

    @classmethod
    def of(cls, text: str, name: str) -> Select:
        """Parse a text.

        Args:
            text: all of a file.
            name: of the file, as faults show it.

        Raises:
            SpecFaults: it holds anything but one SELECT.
        """
        try:
            tokens = _tokens(text)
            statements = [found for found in _SPARK.parser().parse(tokens, text) if found is not None]
        except RecursionError as error:
            raise SpecFaults([Fault(name, 1, "", f"cannot be read as SQL: {error}.")]) from error
        except ParseError as error:
            raise SpecFaults([_parse_fault(name, error)]) from error
        except SqlglotError as error:
            message = "is not SQL: a quote or a comment is opened and not closed."
            raise SpecFaults([Fault(name, 1, "", message)]) from error
        if len(statements) != 1 or not isinstance(tree := statements[0], exp.Query):
            found = f"{len(statements)} statements" if len(statements) != 1 else _kind(statements[0])
            message = f"holds {found}, and a transform in SQL is one SELECT."
            raise SpecFaults([Fault(name, 1, "", message, "keep the SELECT alone; a CTE names what comes before it.")])
        return cls(name, text, tree, tuple(tokens))

    @cached_property
    def common_tables(self) -> dict[str, exp.Query]:
        """The queries that it names by WITH, by their names in lower case."""
        return {cte.alias.lower(): cte.this for cte in self.tree.find_all(exp.CTE)}

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its result's columns, as it writes them; none where it does not name all of them itself."""
        named = tuple(self.tree.named_selects)
        listed = len(named) == len(self.tree.selects) and not any(isinstance(s, exp.Aliases) for s in self.tree.selects)
        return named if listed and not self.tree.is_star else ()

    def tables(self, node: exp.Expr | None = None) -> Iterator[exp.Table]:
        """Yield the tables that it names, or that a part of it names; functions that make rows are none."""
        for table in (node or self.tree).find_all(exp.Table):
            if isinstance(table.this, exp.Identifier):
                yield table

    def reads(self, node: exp.Expr, table: str) -> bool:
        """Whether a part of it reads a table, by itself or by what WITH names."""
        return self._reads(node, table.lower(), frozenset())

    def _reads(self, node: exp.Expr, table: str, seen: frozenset[str]) -> bool:
        names = {each.name.lower() for each in self.tables(node)}
        if table in names:
            return True
        named = (names & self.common_tables.keys()) - seen
        return any(self._reads(self.common_tables[name], table, seen | {name}) for name in named)

    def fault(self, node: exp.Expr, message: str, fix: str = "") -> Fault:
        """Return a fault at a part of it."""
        return self.fault_at(self.start_of(node), message, fix)

    def fault_at(self, offset: int, message: str, fix: str = "") -> Fault:
        """Return a fault at a character of the text, counted from 0."""
        line, column = position(self.text, offset)
        return Fault(self.file, line, "", message, fix, column)

    def start_of(self, node: exp.Expr) -> int:
        """Return where a part of it begins: of some parts sqlglot knows only where their own parts are."""
        starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
        if starts:
            return int(min(starts))
        return 0 if node.parent is None else self.start_of(node.parent)


def _tokens(text: str) -> list[Token]:
    """Return the words of a text. sqlglot takes `GROUP BY window(` for the clause WINDOW, unless it is told better."""
    tokens = _SPARK.tokenize(text)
    for token, after in pairwise(tokens):
        if token.token_type is TokenType.WINDOW and after.token_type is TokenType.L_PAREN:
            token.token_type = TokenType.VAR
    return tokens


def _parse_fault(file: str, error: ParseError) -> Fault:
    found = error.errors[0] if error.errors else {}
    near = (found.get("highlight") or "").strip()
    what = str(found.get("description") or error).partition(" but got <Token")[0].rstrip(".")
    message = f"is not SQL as Spark has it: {what[:1].lower()}{what[1:]}{f', at {near!r}' if near else ''}."
    column = max(1, (found.get("col") or 1) - max(0, len(near) - 1))
    return Fault(file, found.get("line") or 1, "", message, column=column)


def _kind(statement: exp.Expr) -> str:
    return "a command" if isinstance(statement, exp.Command) else f"`{statement.key.upper()}`"
