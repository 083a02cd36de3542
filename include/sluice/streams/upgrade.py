"""What a change of code means for a unit: which code runs and which is on disk, and what happens to each output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sluice.intervals.alignment import Interval
from sluice.intervals.ledger import Ledger, State
from sluice.specs.catalog.streams import DeclaredStream
from sluice.specs.code.parts import CodeChanges
from sluice.specs.model.outputs import Output
from sluice.specs.rules.output_rules import output_name

_STATE = (
    "its checkpoint holds state. A driver checks on a copy whether that fits the new code; if not, the stream begins "
    "again at the records of open intervals, or, without an interval table, is HALTED as `incompatible state`"
)
_NO_STATE = "its checkpoint holds no state"
_UNKNOWN_STATE = "whether it has state is not known: it has committed no batch yet, or its checkpoint cannot be read"


@dataclass(frozen=True)
class OutputEffect:
    """What a change of code means for one output.

    Attributes:
        stream: that fills it.
        output: its kind and name.
        effect: one sentence, without its end.
    """

    stream: str
    output: str
    effect: str


@dataclass(frozen=True)
class StaleIntervals:
    """Which closed intervals of a table were not computed by a code alone.

    Attributes:
        closed: how many intervals are closed.
        stale: how many of them other code had a part in.
        range: from the first of these to the last; None if there is none.
    """

    closed: int
    stale: int
    range: Interval | None

    @classmethod
    def of(cls, ledger: Ledger, code: str) -> StaleIntervals:
        """Return those of a ledger for a code."""
        closed = [row for row in ledger.spans if ledger.closes(row)]
        stale = [row for row in closed if row.state(code) is State.STALE]
        bounds = Interval(stale[0].interval.start, stale[-1].interval.end) if stale else None
        return cls(sum(row.count for row in closed), sum(row.count for row in stale), bounds)

    def recompute_command(self, pipeline: str) -> str:
        """Return the command that computes them by the code on disk; empty if none is stale."""
        if self.range is None:
            return ""
        bounds = f"--from {self.range.start:%FT%RZ} --to {self.range.end:%FT%RZ}"
        return f"sluice backfill run {pipeline} {bounds} --mode recompute --only stale"


@dataclass(frozen=True)
class Trial:
    """The newest trial of the code on disk.

    Attributes:
        backfill: its id.
        at: when it ended (UTC).
        outcome: what it found.
        compared: how many intervals it compared.
    """

    backfill: str
    at: datetime
    outcome: str
    compared: int


@dataclass(frozen=True)
class PipelineUpgrade:
    """A pipeline's code before and after a restart of its unit.

    Attributes:
        pipeline: its name.
        disk: hash of the code on disk.
        running: hash of the code that the driver runs; None if no driver lives, or it has not said so.
        written: hash behind the newest interval that was written; None without one.
        changes: in what the code on disk differs from `before`; None if that is not known.
        outputs: what happens to each output.
        intervals: which intervals are stale by the code on disk; None without an interval table.
        trial: of the code on disk; None if it was not tried.
    """

    pipeline: str
    disk: str
    running: str | None = None
    written: str | None = None
    changes: CodeChanges | None = None
    outputs: tuple[OutputEffect, ...] = ()
    intervals: StaleIntervals | None = None
    trial: Trial | None = None

    @property
    def before(self) -> str | None:
        """The hash that the code on disk is compared with: what runs, else what wrote last; None: not known."""
        return self.running or self.written

    @property
    def changed(self) -> bool | None:
        """Whether the code on disk is another one; None if that is not known."""
        return None if self.before is None else self.before != self.disk


@dataclass(frozen=True)
class UnitUpgrade:
    """A unit's code before and after a restart.

    Attributes:
        unit: its name.
        generation: of the driver that lives; None if none does.
        pipelines: each of its pipelines.
    """

    unit: str
    generation: int | None
    pipelines: tuple[PipelineUpgrade, ...]

    @property
    def outdated(self) -> tuple[str, ...]:
        """The pipelines of which the driver runs other code than is on disk, as far as it has said so."""
        return tuple(p.pipeline for p in self.pipelines if p.running is not None and p.running != p.disk)

    @property
    def in_force(self) -> bool:
        """Whether the driver that lives is known to run the code on disk."""
        return self.generation is not None and all(p.running == p.disk for p in self.pipelines)

    def recompute_commands(self) -> tuple[str, ...]:
        """Return the commands that compute by the code on disk what is stale."""
        tables = [(p.pipeline, p.intervals) for p in self.pipelines if p.intervals is not None]
        return tuple(command for name, stale in tables if (command := stale.recompute_command(name)))


def output_effects(stream: DeclaredStream, keeps_state: bool | None) -> Iterator[OutputEffect]:
    """Yield what a change of code means for each output of a stream.

    Args:
        stream: of a pipeline.
        keeps_state: whether its checkpoint holds state; None if that is not known.
    """
    state = {True: _STATE, False: _NO_STATE, None: _UNKNOWN_STATE}[keeps_state]
    for output in stream.outputs:
        yield OutputEffect(stream.name, f"{output.kind} {output_name(output)}", _effect(output, state))


def _effect(output: Output, state: str) -> str:
    match output.kind:
        case "intervals":
            return "needs no state: intervals that are settled after the restart are the new code's"
        case "rows":
            return "keeps no state: what was appended stays, and rows after the restart are the new code's"
        case "latest":
            return f"a row stays until a newer one of its key replaces it; {state}"
        case "topic":
            return f"what was sent stays, and records after the restart are the new code's; {state}"
        case "sink":
            return f"what it was given stays, and rows after the restart are the new code's; {state}"
        case "dead_letters":
            return "runs no transform: records are copied that validation refuses after the restart"


def rollback_steps(upgrade: UnitUpgrade) -> tuple[str, ...]:
    """Return how to go back to the code before, step by step: there is no other way than that of a promotion."""
    show = f"sluice streams upgrade {upgrade.unit}"
    if upgrade.outdated:
        in_force = f"generation {upgrade.generation} of {upgrade.unit} keeps the code that it was started with"
        return (
            f"The code on disk is not in force: {in_force}. No result has to be undone.",
            f"{_PUT_BACK}. Do so soon: any restart takes what is on disk, also one after a crash.",
            f"Run `{show}`: it says that the driver runs the code on disk, once all of it is back.",
        )
    return (
        f"{_PUT_BACK}, and the former wheel if Sluice itself was upgraded. {_ADDED_COLUMNS}.",
        "Run `sluice check`.",
        f"Run `{show}`: it shows the hash of the former code, and which intervals are stale by it.",
        f"Run `{show} --promote --why '…'`: it restarts the unit and prints the next command. {_FORMER_STATE}.",
        f"Run that command, `sluice backfill run … --mode recompute --only stale`: {_RECOMPUTED}.",
    )


_PUT_BACK = "Put the former specs, transforms and static inputs back, from your version control"
_ADDED_COLUMNS = (
    "Columns that the new code has added stay in the table: the former code has to return them as null, or the table "
    "refuses its rows"
)
_FORMER_STATE = (
    "A live stream whose state does not fit the former code begins again at open intervals; one without an interval "
    "table is HALTED as `incompatible state`, and `sluice streams reset` lets it begin again"
)
_RECOMPUTED = (
    "it computes again what the withdrawn code has written; what the former code has written is not stale any more"
)
