"""A Delta table and its writers, in memory: what the adapter of a settled table must do, so that it can be done wrong.

`SettledStore.commit` follows the rules of Delta: a commit takes the next version; one that is pinned takes exactly one
version or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sluice.intervals.carried import Carried
from sluice.intervals.entries import AttemptEntry, Content, Entry, Logged, SettleEntry
from sluice.intervals.reach import Reach
from sluice.settling.ports import SettledState
from sluice.settling.rules import SettlingRules
from sluice.settling.state import settled_state
from sluice.streams.position.fencing import FencedError
from tests.simulation.settling.source import RecordId


@dataclass
class StagedRows:
    """Computed rows."""

    rows: Mapping[datetime, list[RecordId]]
    carried: Mapping[datetime, Carried] = field(default_factory=dict)
    committed: bool = False

    @property
    def content(self) -> dict[datetime, Content]:
        return {start: Content(len(ids), str(sum(map(hash, ids)))) for start, ids in self.rows.items() if ids}

    def discard(self) -> None:
        assert not self.committed, "files that the table's log names are deleted"


class SettledStore:
    """The table. `check` is called after each commit."""

    def __init__(self, now: Callable[[], datetime], check: Callable[[], None]) -> None:
        self.commits: list[Logged] = []
        self.rows: dict[datetime, list[RecordId]] = {}
        self.written_at: dict[datetime, int] = {}
        self.marked = 0
        self._now = now
        self._check = check

    @property
    def version(self) -> int:
        return len(self.commits) - 1

    def log(self) -> list[Logged]:
        return [*self.commits]

    def newest_first(self) -> Iterator[Logged]:
        return reversed(self.commits)

    def commit(self, entry: Entry) -> None:
        self.commits.append(Logged(len(self.commits), self._now(), entry))

    def replace(self, rows: Mapping[datetime, list[RecordId]], since: datetime, until: datetime) -> None:
        """Replace all rows of the intervals in `[since, until)`."""
        self.rows = {start: own for start, own in self.rows.items() if not since <= start < until}
        self.put(rows)

    def put(self, rows: Mapping[datetime, list[RecordId]]) -> None:
        for start, own in rows.items():
            self.rows[start] = sorted([*self.rows.get(start, []), *own])
            self.written_at[start] = self.version

    def checked(self) -> None:
        self._check()


class SettledDelta:
    """One settler's side of the table. Implements `sluice.settling.ports.SettledTable`.

    Args:
        store: the table.
        generation: of the settler.
        rules: of each topic that the pipeline reads.
        beginning: what it never reads of them.
    """

    def __init__(
        self, store: SettledStore, generation: int, rules: Mapping[str, SettlingRules], beginning: Mapping[str, Reach]
    ) -> None:
        self._store = store
        self.generation = generation
        self._rules = rules
        self._beginning = beginning

    def open(self) -> None:
        self._check_fence()
        if self._store.marked < self.generation:
            self._store.commit(AttemptEntry("settle:flights", self.generation))
            self._store.marked = self.generation

    def read(self) -> SettledState:
        self._check_fence()
        return settled_state(self._store.newest_first(), self._store.version, self._rules, self._beginning)

    def commit(self, state: SettledState, entry: SettleEntry, rows: StagedRows | None) -> bool:
        if self._store.version != state.version:
            return False
        self._store.commit(entry)
        if rows is not None and entry.since is not None and entry.settled_until is not None:
            self._store.replace(rows.rows, entry.since, entry.settled_until)
            rows.committed = True
        self._store.checked()
        return True

    def holds(self, state: SettledState, entry: SettleEntry) -> bool:
        after = [commit.entry for commit in self._store.commits[state.version + 1 : state.version + 2]]
        return any(isinstance(other, SettleEntry) and other.nonce == entry.nonce for other in after)

    def _check_fence(self) -> None:
        if self._store.marked > self.generation:
            raise FencedError.of("flights", self._store.marked, self.generation)
