"""How far apart in time a SELECT joins the records of several sources, where its conditions say so plainly.

A condition counts that compares the event times of two sources, plus or minus lengths that are written out. Whatever
else bounds a join, such as equal windows, is not found, and nothing is said of it: what is found is true, not complete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import combinations, permutations

from sqlglot import exp

from sluice.specs.code.join_rules import TimeJoin, TimeJoins
from sluice.specs.code.select import Select
from sluice.specs.code.select_rules import time_windows
from sluice.specs.code.window_rules import length_of

_Pair = tuple[str, str]
_Linear = tuple[Mapping[str, int], timedelta]
"""A sum of event times, each so many times, and of a length."""

_TIMESTAMPS = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ)


@dataclass(frozen=True)
class _Time:
    """What a column with times of one source holds.

    Attributes:
        source: its name.
        exact: the event times; else the beginnings of what these lie in, such as windows.
    """

    source: str
    exact: bool = True


@dataclass(frozen=True)
class _Rows:
    """What is known of a table or of what a query yields.

    Attributes:
        columns: in lower case; None: it holds no source's times, as far as is seen.
        most: of two sources, how much later than the second's the event of the first is at most, in each row.
    """

    columns: Mapping[str, _Time | None] = field(default_factory=dict)
    most: Mapping[_Pair, timedelta] = field(default_factory=dict)


_UNKNOWN = _Rows()


def time_joins(select: Select, columns: Mapping[str, Collection[str]], event_times: Mapping[str, str]) -> TimeJoins:
    """Return how far apart in time a SELECT joins its sources, and whose times its columns hold.

    Args:
        select: the transform.
        columns: those of each source and each static input, by name.
        event_times: the column with the event time of each source.
    """
    tables = {
        name: _Rows({column: _Time(name) if column == event_times.get(name) else None for column in own})
        for name, own in columns.items()
    }
    reader = _Reader(select, tables)
    for query in select.tree.find_all(exp.Select):
        reader.rows_of(query)
    held = reader.rows_of(select.tree).columns
    return TimeJoins(tuple(reader.joins), {name: time.source for name, time in held.items() if time is not None})


class _Reader:
    """Reads queries, each once and from the inside out."""

    def __init__(self, select: Select, tables: Mapping[str, _Rows]) -> None:
        self._select = select
        self._tables = tables
        self._known: dict[int, _Rows] = {}
        self.joins: list[TimeJoin] = []

    def rows_of(self, query: exp.Expr) -> _Rows:
        if isinstance(query, exp.Subquery):
            return self.rows_of(query.this)
        if not isinstance(query, exp.Select):
            return _UNKNOWN
        if id(query) not in self._known:
            self._known[id(query)] = _UNKNOWN  # a query that names itself ends here
            self._known[id(query)] = self._read(query)
        return self._known[id(query)]

    def _read(self, query: exp.Select) -> _Rows:
        scope = _Scope(query, dict(self._tables_of(query)))
        conditions = [(condition, bounds) for condition in _conditions(query) if (bounds := scope.bounds(condition))]
        most = _tightest(*(rows.most for rows in scope.tables.values()), *(bounds for _, bounds in conditions))
        if conditions:
            line = min(self._select.fault(condition, "").line for condition, _ in conditions)
            self.joins += _joins(most, line)
        return _Rows(scope.projected(), most)

    def _tables_of(self, query: exp.Select) -> Iterator[tuple[str, _Rows]]:
        clauses = [query.args.get("from_"), *(query.args.get("joins") or ())]
        for table in (clause.this for clause in clauses if clause is not None):
            rows = self.rows_of(table)
            if isinstance(table, exp.Table) and not table.db:
                common = self._select.common_tables.get(table.name.lower())
                rows = self._tables.get(table.name.lower(), _UNKNOWN) if common is None else self.rows_of(common)
            yield table.alias_or_name.lower(), rows


class _Scope:
    """One SELECT with what stands in its FROM."""

    def __init__(self, query: exp.Select, tables: Mapping[str, _Rows]) -> None:
        self._query = query
        self.tables = tables

    def projected(self) -> dict[str, _Time | None]:
        """Return the columns that it yields."""
        columns: dict[str, _Time | None] = {}
        for node in self._query.expressions:
            if isinstance(node, exp.Star):
                columns |= {
                    column: self._unqualified(column) for rows in self.tables.values() for column in rows.columns
                }
            elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
                columns |= self.tables.get(node.table.lower(), _UNKNOWN).columns
            elif name := node.alias_or_name.lower():
                columns[name] = self._time(node.unalias())
        return columns

    def bounds(self, condition: exp.Expr) -> dict[_Pair, timedelta]:
        """Return how much later one source's event is at most than another's where a condition holds."""
        found: dict[_Pair, timedelta] = {}
        for smaller, greater in _ordered(condition):
            left, right = self._linear(smaller), self._linear(greater)
            if left is None or right is None:
                continue
            times, length = _sum(left, right, sign=-1)
            late, early = ([name for name, count in times.items() if count == sign] for sign in (1, -1))
            if len(late) == len(early) == 1 and sum(map(abs, times.values())) == len(late) + len(early):
                found[late[0], early[0]] = -length
        return found

    def _linear(self, node: exp.Expr) -> _Linear | None:
        node = node.unnest()
        if isinstance(node, exp.Add | exp.Sub):
            left, right = self._linear(node.this), self._linear(node.expression)
            if left is None or right is None:
                return None
            return _sum(left, right, sign=1 if isinstance(node, exp.Add) else -1)
        if isinstance(node, exp.Interval):
            length = _length(node)
            return None if length is None else ({}, length)
        time = self._time(node)
        return ({time.source: 1}, timedelta()) if time is not None and time.exact else None

    def _time(self, node: exp.Expr) -> _Time | None:
        """Return whose times an expression has."""
        node = node.unnest()
        if isinstance(node, exp.Cast) and node.to.this in _TIMESTAMPS:
            return self._time(node.this)
        if isinstance(node, exp.TimestampTrunc):
            return self._begin_of(node.this)
        if isinstance(node, exp.Dot) and node.name.lower() == "start" and isinstance(node.this, exp.Anonymous):
            return self._begin_of_window(node.this)
        if not isinstance(node, exp.Column):
            return None
        owner, name = node.table.lower(), node.name.lower()
        if (owner, name) == ("window", "start") and owner not in self.tables:
            calls = {call.sql(): call for call in time_windows(self._query) if call.parent_select is self._query}
            return self._begin_of_window(*calls.values()) if len(calls) == 1 else None
        return self.tables.get(owner, _UNKNOWN).columns.get(name) if owner else self._unqualified(name)

    def _unqualified(self, name: str) -> _Time | None:
        found = [rows.columns[name] for rows in self.tables.values() if name in rows.columns]
        return found[0] if len(found) == 1 else None

    def _begin_of_window(self, call: exp.Anonymous) -> _Time | None:
        """Return whose times windows begin before. With an offset they do not begin where intervals do."""
        most = 3  # time, length, slide
        if call.name.lower() != "window" or not 1 < len(call.expressions) <= most:
            return None
        return self._begin_of(call.expressions[0])

    def _begin_of(self, node: exp.Expr) -> _Time | None:
        time = self._time(node)
        return None if time is None else _Time(time.source, exact=False)


def _conditions(query: exp.Select) -> Iterator[exp.Expr]:
    """Yield the conditions that all hold for what a SELECT puts together."""
    clauses = [join.args.get("on") for join in query.args.get("joins") or ()]
    where = query.args.get("where")
    waiting = [clause for clause in (*clauses, None if where is None else where.this) if clause is not None]
    while waiting:
        node = waiting.pop(0).unnest()
        if isinstance(node, exp.And):
            waiting[:0] = [node.this, node.expression]
        else:
            yield node


def _ordered(condition: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """Yield what a condition compares, each time the smaller side first."""
    if isinstance(condition, exp.Between):
        yield condition.args["low"], condition.this
        yield condition.this, condition.args["high"]
    if isinstance(condition, exp.LTE | exp.LT | exp.EQ):
        yield condition.this, condition.expression
    if isinstance(condition, exp.GTE | exp.GT | exp.EQ):
        yield condition.expression, condition.this


def _sum(left: _Linear, right: _Linear, *, sign: int) -> _Linear:
    times = Counter(left[0])
    for name, count in right[0].items():
        times[name] += sign * count
    return {name: count for name, count in times.items() if count}, left[1] + sign * right[1]


def _length(node: exp.Interval) -> timedelta | None:
    """Return the length of an interval that is a number of a fixed unit; None of any other."""
    number, unit = node.this, node.args.get("unit")
    if not isinstance(number, exp.Literal | exp.Neg) or not isinstance(unit, exp.Var):
        return None
    text, negative = number.name.strip(), isinstance(number, exp.Neg)
    length = length_of(f"{text.removeprefix('-')} {unit.name.lower()}")
    return None if length is None else -length if negative or text.startswith("-") else length


def _tightest(*bounds: Mapping[_Pair, timedelta]) -> dict[_Pair, timedelta]:
    """Return the tightest of some bounds, and what follows from them of sources that no condition compares."""
    most: dict[_Pair, timedelta] = {}
    for pair, length in (item for each in bounds for item in each.items()):
        most[pair] = min(length, most.get(pair, length))
    names = list(dict.fromkeys(name for pair in most for name in pair))
    for middle, late, early in ((m, a, b) for m in names for a, b in permutations(names, 2)):
        if (late, middle) in most and (middle, early) in most:
            length = most[late, middle] + most[middle, early]
            most[late, early] = min(length, most.get((late, early), length))
    return most


def _joins(most: Mapping[_Pair, timedelta], line: int) -> Iterator[TimeJoin]:
    names = list(dict.fromkeys(name for pair in most for name in pair))
    for first, second in combinations(names, 2):
        upper, lower = most.get((first, second)), most.get((second, first))
        if upper is not None or lower is not None:
            yield TimeJoin(first, second, None if lower is None else -lower, upper, line)
