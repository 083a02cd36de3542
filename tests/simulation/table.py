"""What drivers do to a table, in the few steps that matter: mark, read what is covered, plan, check the mark, commit.

A model of `sluice.delta.writer_log`, of the sinks around it and of what Delta and Spark promise:

* a commit conflicts if the same app id was committed since its snapshot, and is skipped if its transaction is known;
* a batch is planned by creating a file that must not exist yet;
* between any two steps a driver may be stopped, killed, or overtaken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sluice.intervals.coverage import NOWHERE, Fit, Position, fit
from sluice.streams.failures.exits import ExitCode
from tests.simulation.breach import BreachError

PARTITION = "flights/0"


@dataclass(frozen=True)
class Commit:
    """Records `[start, end)`, published by a generation."""

    generation: int
    start: int
    end: int


class Table:
    """A Delta table with one writer: versions, marks of generations, and commits."""

    def __init__(self) -> None:
        self.version = 0
        self.marked = 0
        self.commits: list[Commit] = []
        self.committed_at = 0
        """The version of the newest commit."""

    @property
    def end(self) -> int:
        """The next offset that is not in the table."""
        return self.commits[-1].end if self.commits else 0

    def mark(self, generation: int, snapshot: int) -> bool:
        """Write a generation's mark; False if somebody committed since the snapshot."""
        if self.version != snapshot:
            return False
        self.version += 1
        self.marked = generation
        return True

    def commit(self, commit: Commit, snapshot: int) -> bool:
        """Publish records; False if the writer's app id was committed since the snapshot."""
        if self.committed_at > snapshot:
            return False
        if self.commits and commit.generation < self.commits[-1].generation:
            raise BreachError(f"{commit} was published after {self.commits[-1]}")
        if commit.start != self.end:
            what = "again" if commit.start < self.end else "too late: records before them are missing"
            raise BreachError(f"{commit} was published {what}; the table holds offsets up to {self.end}")
        self.version += 1
        self.committed_at = self.version
        self.commits.append(commit)
        return True


@dataclass
class Checkpoint:
    """What outlives a driver: plans of batches of so many records, and how many of them are done."""

    records: int = 10
    planned: list[tuple[int, int]] = field(default_factory=list)
    done: int = 0


class Driver:
    """One driver process as the table sees it. `step` does the next thing and returns an exit code, or None."""

    def __init__(self, generation: int, table: Table, checkpoint: Checkpoint) -> None:
        self.generation = generation
        self._table = table
        self._checkpoint = checkpoint
        self._next: Callable[[], ExitCode | None] = self._check_mark
        self._recovering = True
        self._held = NOWHERE
        self._batch = 0
        self._range = (0, 0)
        self._snapshot = 0
        self._marked_at_plan = 0
        self.stopping = False
        self.did = ""
        """What its last step was, if it is one to count."""

    def step(self) -> ExitCode | None:
        return self._next()

    @property
    def began(self) -> bool:
        """Whether it has opened its table."""
        return self._next not in (self._check_mark, self._mark, self._read_coverage)

    @property
    def idle(self) -> bool:
        """Whether it is between two batches."""
        return self._next == self._plan

    def _check_mark(self) -> ExitCode | None:
        self._snapshot = self._table.version
        if self._table.marked > self.generation:
            return ExitCode.FENCED
        self._next = self._mark if self._table.marked < self.generation else self._read_coverage
        return None

    def _mark(self) -> None:
        self._table.mark(self.generation, self._snapshot)
        self._next = self._check_mark

    def _read_coverage(self) -> None:
        self._held = position(self._table.end)
        self._next = self._plan

    def _plan(self) -> ExitCode | None:
        if self.stopping:
            return ExitCode.STOPPED
        planned = self._checkpoint.planned
        self._marked_at_plan = self._table.marked
        if self._recovering:
            self._batch = max(0, len(planned) - 1) if self._checkpoint.done < len(planned) else len(planned)
        elif self._batch < len(planned):
            return ExitCode.FENCED  # another driver has planned it: Spark refuses to go on
        self._recovering = False
        if self._batch == len(planned):
            start = planned[-1][1] if planned else 0
            planned.append((start, start + self._checkpoint.records))
        self._range = planned[self._batch]
        self._next = self._judge
        return None

    def _judge(self) -> ExitCode | None:
        start, end = self._range
        match fit(self._held, {PARTITION: start}, position(end)):
            case Fit.GAP:
                return ExitCode.DATA_LOSS
            case Fit.COVERED:
                self.did = "driver: replays a batch"
                self._next = self._finish
            case Fit.OVERLAP:
                self._range = (self._held.offsets[PARTITION], end)
                self._next = self._check_fence
            case Fit.NEXT:
                self._next = self._check_fence
        return None

    def _check_fence(self) -> ExitCode | None:
        if self._table.marked > self.generation:
            return ExitCode.FENCED
        self._next = self._begin_write
        return None

    def _begin_write(self) -> None:
        self._snapshot = self._table.version
        known = self._table.end >= self._range[1]  # Delta skips a transaction that it has seen
        self._next = self._confirm if known else self._commit

    def _commit(self) -> ExitCode | None:
        if self._marked_at_plan > self.generation:
            raise BreachError(f"generation {self.generation} publishes a batch of after {self._marked_at_plan}'s mark")
        if not self._table.commit(Commit(self.generation, *self._range), self._snapshot):
            self.did = "table: refuses a late commit"
            return ExitCode.FENCED
        self.did = "driver: publishes"
        self._next = self._confirm
        return None

    def _confirm(self) -> ExitCode | None:
        if self._table.end != self._range[1]:
            return ExitCode.CORRUPT
        self._held = position(self._range[1])
        self._next = self._finish
        return None

    def _finish(self) -> ExitCode | None:
        if self._checkpoint.done > self._batch + 1:
            return ExitCode.FENCED  # another driver went on from here
        self._checkpoint.done = self._batch + 1
        self._batch += 1
        self._next = self._plan
        return None


def position(end: int) -> Position:
    return Position({PARTITION: end}) if end else NOWHERE
