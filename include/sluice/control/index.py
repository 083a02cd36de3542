"""The index of the interval ledger: what the tables' logs say, where it can be asked quickly and by others.

The logs are the truth. The index copies their entries once and folds them into rows; its content can be dropped
and comes back the same. An index that does not follow from the logs is never shown as if it did: it says so, loudly.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Row, Table, and_, delete, extract, func, insert, select

from sluice.control.database import take_turns, transaction
from sluice.control.deployment_records import DeploymentRecords
from sluice.control.interval_rows import columns_of, ledger_row
from sluice.control.tables import interval, ledger, ledger_entry
from sluice.errors import CorruptionError
from sluice.intervals.entries import Logged, from_json, to_json
from sluice.intervals.ledger import Ledger, LedgerRow, State, fold
from sluice.intervals.raw_floor import WholeFrom
from sluice.intervals.reach import RawPosition, Reach
from sluice.intervals.rows import Rows

_AT_A_TIME = 1_000
"""How many stored rows are in memory while they are compared."""
_WHATEVER = timedelta(hours=1)
"""The length of the intervals of a pipeline that has none."""


@dataclass(frozen=True)
class LedgerSource:
    """Where the truth about one pipeline's intervals is read.

    Attributes:
        length: of an interval.
        entries: returns the entries of the output table's commits of greater versions than the given one, oldest first.
        raw: returns how far the raw table goes.
        whole: returns from which interval on its records can be read again; None: nothing was removed.
    """

    length: timedelta
    entries: Callable[[int], Sequence[Logged]]
    raw: Callable[[], RawPosition]
    whole: Callable[[], WholeFrom | None] = lambda: None


@dataclass(frozen=True)
class _Log:
    """What the tables say, asked before the index is locked: a bucket may keep its reader waiting for minutes."""

    entries: Sequence[Logged]
    raw: RawPosition
    whole: WholeFrom | None

    @classmethod
    def read(cls, source: LedgerSource, after: int) -> _Log:
        return cls(source.entries(after), source.raw(), source.whole())


@dataclass(frozen=True)
class Refreshed:
    """What a refresh did.

    Attributes:
        pipeline: its name.
        entries: how many were copied.
        changed: how many intervals' rows were written or removed.
        ledger: as it is now.
    """

    pipeline: str
    entries: int
    changed: int
    ledger: Ledger


@dataclass(frozen=True)
class Overview:
    """What the index knows of one pipeline, without its intervals.

    Attributes:
        closed_until: end of the last closed interval (UTC); None before the first.
        counts: how many are in each state, as far as that does not depend on today's code.
    """

    closed_until: datetime | None
    counts: Mapping[State, int]


class LedgerIndex(DeploymentRecords):
    """The index of one deployment. Safe from several processes at once.

    Args:
        engine: of the control database.
        deployment: its name.
        sources: by pipeline.
    """

    def __init__(self, engine: Engine, deployment: str, sources: Mapping[str, LedgerSource]) -> None:
        super().__init__(engine, deployment)
        self._sources = sources

    def overview(self) -> Mapping[str, Overview]:
        """Return how many intervals are in each state, of every pipeline that was ever refreshed, in two queries."""
        heads = select(ledger.c.pipeline, ledger.c.closed_until).where(ledger.c.deployment == self._deployment)
        columns = interval.c
        seconds = extract("epoch", columns.ends_at) - extract("epoch", columns.starts_at)
        states = (
            select(columns.pipeline, columns.state, func.sum(seconds), func.min(seconds))
            .where(columns.deployment == self._deployment)
            .group_by(columns.pipeline, columns.state)
        )
        with self._taking_turns(write=False) as connection:
            counts: dict[str, dict[State, int]] = {}
            for pipeline, state, total, least in connection.execute(states):
                source = self._sources.get(pipeline)
                length = int(least) if source is None else int(source.length.total_seconds())
                counts.setdefault(pipeline, {})[State(state)] = int(total) // length
            return {
                row.pipeline: Overview(row.closed_until, counts.get(row.pipeline, {}))
                for row in connection.execute(heads)
            }

    def stale(self, codes: Mapping[str, str]) -> Mapping[str, int]:
        """Return how many closed and published intervals other code than today's has computed, in one query.

        Args:
            codes: the hash of today's code, by pipeline; others are left out.
        """
        columns = interval.c
        seconds = extract("epoch", columns.ends_at) - extract("epoch", columns.starts_at)
        computed = (
            select(columns.pipeline, columns.code, func.sum(seconds), func.min(seconds))
            .where(columns.deployment == self._deployment, columns.pipeline.in_(list(codes)))
            .where(columns.state.in_([State.CLOSED.value, State.PUBLISHED.value]))
            .group_by(columns.pipeline, columns.code)
        )
        found = dict.fromkeys(codes, 0)
        with self._taking_turns(write=False) as connection:
            for pipeline, by, total, least in connection.execute(computed):
                if by != codes[pipeline]:
                    source = self._sources.get(pipeline)
                    found[pipeline] += int(total) // (
                        int(least) if source is None else int(source.length.total_seconds())
                    )
        return found

    def ledger(self, pipeline: str, *, since: datetime | None = None, until: datetime | None = None) -> Ledger:
        """Return a pipeline's ledger as it was at the last refresh; an empty one before the first.

        Args:
            pipeline: its name.
            since: omitted: from the first interval; else those that end later.
            until: omitted: to the last interval; else those that start before.
        """
        columns = interval.c
        within = [self._of(interval, pipeline)]
        within += [] if since is None else [columns.ends_at > since]
        within += [] if until is None else [columns.starts_at < until]
        in_order = select(interval).where(and_(*within)).order_by(columns.starts_at)
        with self._taking_turns(write=False) as connection:
            head = connection.execute(select(ledger).where(self._of(ledger, pipeline))).one_or_none()
            stored = connection.execute(in_order).all()
        if head is None:
            return Ledger()
        source = self._sources.get(pipeline)
        length = source.length if source else min((row.ends_at - row.starts_at for row in stored), default=_WHATEVER)
        return Ledger(Rows(ledger_row(row, length) for row in stored), head.closed_until, head.table_version)

    def refresh(self, pipeline: str) -> Refreshed:
        """Copy the entries that it lacks from the log, and rewrite the rows that change, in one transaction.

        Raises:
            CorruptionError: the log cannot be read whole, or is not the one that was indexed; nothing was changed.
            UnreachableError: the control database could not be queried.
        """
        source = self._sources[pipeline]
        newest_first = (
            select(ledger_entry).where(self._of(ledger_entry, pipeline)).order_by(ledger_entry.c.version.desc())
        )
        known = next(map(_logged, self._read(newest_first.limit(1))), None)
        log = _Log.read(source, -1 if known is None else known.version - 1)
        if known is not None and (not log.entries or log.entries[0] != known):
            raise CorruptionError(
                f"the index of {pipeline} holds a ledger entry of table version {known.version}, and the table's log "
                f"has {'another' if log.entries else 'none'} there: it is not the table that was indexed.",
                fix="if it was replaced on purpose, run `sluice control rebuild`.",
            )
        with self._taking_turns() as connection:
            return self._write(connection, pipeline, log)

    def rebuild(self) -> list[Refreshed]:
        """Drop what is indexed of this deployment and index all pipelines' logs from their beginning.

        Raises:
            CorruptionError: a log cannot be read whole; nothing was dropped.
            UnreachableError: the control database could not be queried.
        """
        logs = {name: _Log.read(source, -1) for name, source in self._sources.items()}
        with self._taking_turns() as connection:
            for table in (ledger, ledger_entry, interval):
                connection.execute(delete(table).where(table.c.deployment == self._deployment))
            return [self._write(connection, name, log) for name, log in logs.items()]

    def _write(self, connection: Connection, pipeline: str, log: _Log) -> Refreshed:
        known = list(map(_logged, connection.execute(select(ledger_entry).where(self._of(ledger_entry, pipeline)))))
        versions = {logged.version for logged in known}
        if new := [logged for logged in log.entries if logged.version not in versions]:
            these = {"deployment": self._deployment, "pipeline": pipeline}
            rows = [{**these, "version": e.version, "at": e.at, "entry": to_json(e.entry)} for e in new]
            connection.execute(insert(ledger_entry), rows)
        head = connection.execute(select(ledger).where(self._of(ledger, pipeline))).one_or_none()
        raw = log.raw
        if head is not None and head.raw_version > raw.version:  # another process has read more of it meanwhile
            reach = Reach(json.loads(head.raw_offsets), tuple(json.loads(head.raw_topics)))
            raw = RawPosition(head.raw_version, reach)
        entries = sorted([*known, *new], key=lambda logged: logged.version)
        folded = fold(entries, self._sources[pipeline].length, raw.reach, log.whole)
        changed = self._write_rows(connection, pipeline, folded.spans)
        self._write_head(connection, pipeline, folded, raw)
        return Refreshed(pipeline, len(new), changed, folded)

    def _write_rows(self, connection: Connection, pipeline: str, rows: Iterable[LedgerRow]) -> int:
        """Make the rows of a pipeline these, and return how many were written or removed.

        Stored rows are read in order and not kept: a producer with a wrong clock can make them arbitrarily many.
        """
        these = {"deployment": self._deployment, "pipeline": pipeline}
        wanted = {row.interval.start: {**these, **columns_of(row)} for row in rows}
        of_pipeline = self._of(interval, pipeline)
        in_order = select(interval).where(of_pipeline).order_by(interval.c.starts_at)
        kept: set[datetime] = set()
        outdated: list[tuple[datetime, datetime]] = []  # first and last start of rows to remove, with none kept between
        removed, joins = 0, False
        for row in connection.execute(in_order.execution_options(yield_per=_AT_A_TIME)):
            values = wanted.get(row.starts_at)
            if values is not None and values == dict(row._mapping):  # noqa: SLF001 - the public name of it
                kept.add(row.starts_at)
                joins = False
                continue
            first = outdated.pop()[0] if joins else row.starts_at
            outdated.append((first, row.starts_at))
            removed, joins = removed + 1, True
        for first, last in outdated:
            connection.execute(delete(interval).where(of_pipeline, interval.c.starts_at.between(first, last)))
        if new := [values for start, values in wanted.items() if start not in kept]:
            connection.execute(insert(interval), new)
        return max(removed, len(new))

    def _write_head(self, connection: Connection, pipeline: str, folded: Ledger, raw: RawPosition) -> None:
        connection.execute(delete(ledger).where(self._of(ledger, pipeline)))
        head = {
            "deployment": self._deployment,
            "pipeline": pipeline,
            "table_version": folded.version,
            "closed_until": folded.closed_until,
            "raw_version": raw.version,
            "raw_offsets": json.dumps(dict(raw.reach.offsets), sort_keys=True),
            "raw_topics": json.dumps(raw.reach.topics),
        }
        connection.execute(insert(ledger).values(head))

    def _of(self, table: Table, pipeline: str) -> ColumnElement[bool]:
        return and_(table.c.deployment == self._deployment, table.c.pipeline == pipeline)

    @contextmanager
    def _taking_turns(self, *, write: bool = True) -> Iterator[Connection]:
        with transaction(self._engine, write=write) as connection:
            take_turns(connection, f"ledger index of {self._deployment}")
            yield connection


def _logged(row: Row[Any]) -> Logged:
    entry = from_json(row.entry)
    if entry is None:
        raise CorruptionError(
            f"the control database holds {row.entry!r:.100} as the ledger entry of version {row.version}.",
            fix="run `sluice control rebuild`.",
        )
    return Logged(row.version, row.at, entry)
