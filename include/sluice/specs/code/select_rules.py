"""What a transform in SQL may do: the rules of transforms in Python, asked of a SELECT."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

from sqlglot import exp

from sluice.specs.code.determinism import SOURCES_WITHOUT_ARGUMENTS, SPARK_SOURCES, SQL_WORDS, NonDeterminism
from sluice.specs.code.scope_rules import Unbounded, UnboundedExpression
from sluice.specs.code.select import Select
from sluice.specs.code.unbounded import NUMBERING
from sluice.specs.code.window_rules import WindowCall, length_of
from sluice.specs.reading.diagnosis import nearest
from sluice.specs.reading.faults import Fault

_SESSION_STATE = dict.fromkeys(
    ("current_user", "session_user", "user", "current_catalog", "current_database", "current_schema", "version"),
    NonDeterminism.OUTSIDE,
)
_SOURCES = SPARK_SOURCES | _SESSION_STATE
_CLOCK_LITERALS = ("now", "today", "tomorrow", "yesterday")
"""Spark reads these words as times where SQL says `TIMESTAMP '...'` or `DATE '...'`."""


def undetermined_in(select: Select) -> Iterator[Fault]:
    """Yield a fault for every expression that is no function of the records and the static inputs."""
    for what, source, offset in _undetermined(select):
        yield select.fault_at(offset, *source.refusal(what))


def _undetermined(select: Select) -> Iterator[tuple[str, NonDeterminism, int]]:
    following = [*(token.text for token in select.tokens[1:]), "", ""]
    for number, token in enumerate(select.tokens):
        name, called = token.text.lower(), following[number] == "("
        quoted = select.text[token.start : token.start + 1] in ("`", "'", '"')
        if called and name in _SOURCES:
            yield f"{name}()", _SOURCES[name], token.start
        elif called and name in SOURCES_WITHOUT_ARGUMENTS and following[number + 1] == ")":
            yield f"{name}()", SOURCES_WITHOUT_ARGUMENTS[name], token.start
        elif name in SQL_WORDS and not quoted:
            yield name, SPARK_SOURCES[name], token.start
    for sample in select.tree.find_all(exp.TableSample):
        yield "TABLESAMPLE", NonDeterminism.CHANCE, select.start_of(sample)
    for script in select.tree.find_all(exp.QueryTransform):
        yield "TRANSFORM ... USING", NonDeterminism.HIDDEN, select.start_of(script)
    for cast in select.tree.find_all(exp.Cast):
        if isinstance(cast.this, exp.Literal) and cast.this.name.strip().lower() in _CLOCK_LITERALS:
            yield cast.sql("spark"), NonDeterminism.CLOCK, select.start_of(cast)


def unknown_tables(select: Select, known: Iterable[str]) -> Iterator[Fault]:
    """Yield a fault for every table that is neither a source, nor a static input, nor named by WITH.

    Args:
        select: the transform.
        known: the names of the sources and of the static inputs.
    """
    names = list(known)
    for table in select.tables():
        if table.db:
            whole = ".".join(part.name for part in table.parts)
            yield select.fault(table, *NonDeterminism.OUTSIDE.refusal(f"the table {whole}"))
        elif table.name.lower() not in {*names, *select.common_tables}:
            message = f"{table.name!r} is neither a source, nor a static input, nor named by WITH."
            yield select.fault(table, message, nearest(table.name, [*names, *select.common_tables]))


def unknown_columns(select: Select, tables: Mapping[str, Iterable[str]]) -> Iterator[Fault]:
    """Yield a fault for every column that exists nowhere: Spark finds the others, where the stream starts.

    A name counts as known wherever anything is called so. What a PIVOT makes, only Spark knows.

    Args:
        select: the transform.
        tables: the columns of the sources and of the static inputs, by table.
    """
    if select.tree.find(exp.Pivot) is not None:
        return
    columns = {name: [column.lower() for column in own] for name, own in tables.items()}
    declared = {column for own in columns.values() for column in own}
    known = declared | _named(select)
    aliases = {t.alias.lower(): t.name.lower() for t in select.tables() if t.alias}
    for column in select.tree.find_all(exp.Column):
        if not isinstance(column.this, exp.Identifier):
            continue
        owner, name = column.table.lower(), column.name.lower()
        table = aliases.get(owner, owner)
        if owner and table not in select.common_tables and table in columns and not column.args.get("db"):
            if name not in columns[table]:
                message = f"{table} has no column {column.name!r}."
                yield select.fault(column.this, message, nearest(column.name, tables[table]))
        elif not owner and name not in known and name not in (*SQL_WORDS, *tables, *aliases):
            message = f"no table that it reads has a column {column.name!r}."
            yield select.fault(column, message, nearest(column.name, sorted(declared)))


def _named(select: Select) -> set[str]:
    """Return every name that the text gives to anything, in lower case, and those that Spark gives."""
    given = (alias.alias for alias in select.tree.find_all(exp.Alias))
    listed = (
        part.name
        for kind in (exp.TableAlias, exp.Aliases, exp.Lambda, exp.Schema)
        for node in select.tree.find_all(kind)
        for part in node.find_all(exp.Identifier)
    )
    # `GROUP BY window(...)` makes a column `window`.
    called = (token.text for token, after in pairwise(select.tokens) if after.text == "(")
    return {name.lower() for name in (*given, *listed, *called, "col", "pos", "key", "value") if name}


def windows_in(select: Select, path: Path) -> tuple[WindowCall, ...]:
    """Return the windows that it makes, in order."""
    calls = [
        WindowCall(path, select.fault(call, "").line, length=length, slide=slide, offset=offset)
        for call in time_windows(select.tree)
        for length, slide, offset in [window_lengths(call)]
    ]
    sessions = [
        WindowCall(path, select.fault(call, "").line, session=True, gap=window_lengths(call)[0])
        for call in _calls(select.tree, "session_window")
    ]
    return tuple(sorted([*calls, *sessions], key=lambda window: window.line))


def time_windows(tree: exp.Expr) -> Iterator[exp.Anonymous]:
    """Yield the calls of `window`."""
    return _calls(tree, "window")


def window_lengths(call: exp.Anonymous) -> tuple[timedelta | None, timedelta | None, timedelta | None]:
    """Return length, slide and offset of the windows of a call; None where it does not say one."""
    lengths = [_length(argument) for argument in call.expressions[1:]]
    length, slide, offset = [*lengths, None, None, None][:3]
    return length, slide, offset


def _calls(tree: exp.Expr, name: str) -> Iterator[exp.Anonymous]:
    return (node for node in tree.find_all(exp.Anonymous) if node.name.lower() == name)


def _length(argument: exp.Expr) -> timedelta | None:
    return length_of(argument.name) if isinstance(argument, exp.Literal) else None


def unbounded_in(select: Select, sources: Collection[str]) -> Iterator[UnboundedExpression]:
    """Yield what it does with all records that a call is given, whatever their time.

    Args:
        select: the transform.
        sources: their names.
    """
    for query in select.tree.find_all(exp.Select, exp.SetOperation):
        if any(select.reads(query, source) for source in sources):
            if isinstance(query, exp.Select):
                yield from _in_select(select, query)
            for key in ("limit", "offset"):
                if (node := query.args.get(key)) is not None:
                    yield _found(select, node, Unbounded.LIMIT)


def _in_select(select: Select, query: exp.Select) -> Iterator[UnboundedExpression]:
    if query.args.get("group") is None:
        for function in query.find_all(exp.AggFunc):
            if function.find_ancestor(exp.Select) is query and function.find_ancestor(exp.Window, exp.Pivot) is None:
                yield _found(select, function, Unbounded.GROUP)
                break
    for window in query.find_all(exp.Window):
        if window.find_ancestor(exp.Select) is query and _is_open(window, query):
            yield _found(select, window, Unbounded.WINDOW)


def _is_open(window: exp.Window, query: exp.Select) -> bool:
    """Whether it compares all rows: it has no partition, and numbers them or takes all of them together."""
    named = {each.this.name.lower(): each for each in query.args.get("windows") or ()}
    own = named.get(window.alias.lower(), window) if window.alias else window
    if isinstance(window.this, exp.Identifier) or own.args.get("partition_by"):
        return False
    numbers = window.this.sql_name().lower() in NUMBERING if isinstance(window.this, exp.Func) else False
    return numbers or own.args.get("order") is None


def _found(select: Select, node: exp.Expr, kind: Unbounded) -> UnboundedExpression:
    return UnboundedExpression(node.sql("spark").strip(), kind, select.fault(node, "").line)
