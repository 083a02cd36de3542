"""Everything that can happen in a unit's life, by name: a simulation that never saw one proves the less.

Names are `<what>: <how>`. `Tally` counts them; `missing` names those that were never seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from sluice.airflow.streams.stream_request import UnitCommand
from sluice.airflow.streams.watcher import Hint
from sluice.streams.failures.exits import ExitCode
from sluice.streams.failures.failure import FailureClass
from sluice.streams.life.governor import POLICIES
from sluice.streams.life.launcher import DriverState
from sluice.streams.life.reconcile import ActionKind
from sluice.streams.life.watch import WatchState

_NEVER_HELD = (FailureClass.FORCED, FailureClass.COMPLETED)
HELD = tuple(kind for kind, policy in POLICIES.items() if policy.budget != 1 and kind not in _NEVER_HELD)
"""Classes after which there is a wait."""

HALTING = tuple(kind for kind, policy in POLICIES.items() if policy.budget is not None)
"""Classes that end in HALTED, at once or by a budget."""

PORT_CALLS = (
    *("desired", "desire", "latest_attempt", "attempts", "intend", "bind", "end"),
    *("newest_wishes", "newest_attempts"),
    *("find", "lack", "submit", "stop"),
)

FAULTS = (
    *("driver dies", "driver is lost", "driver is paused", "driver wakes up", "machine restarts"),
    *("launcher is silent", "launcher answers again", "state folder is lost"),
    *("checkpoint is lost", "room is gone", "room is back"),
    *("database is silent", "database answers again", "database is restored", "database is lost"),
    *("answer is lost", "answer is late", "time jumps", "worker dies", "run is cleared", "run is marked"),
)

TRANSITIONS: tuple[str, ...] = (
    *(f"claim: {word}" for word in ("Adopt", "Resume", "NoCapacity", "Wait", "Refuse", "Hold", "Halt", "Rest")),
    *(f"refused: {why}" for why in ("never asked", "stop on record", "ended yet lives", "no trace")),
    *(f"reserve: {how}" for how in ("won", "lost the race", "forgotten generation")),
    *(f"attempt: {change}" for change in ("intent to bound", "intent to ended", "bound to ended", "end repeated")),
    *(f"submit: {how}" for how in ("bound", "found", "dead already", "late stop")),
    *(f"submit: {how}" for how in ("outdated", "stop on record", "no room")),
    *(f"find: {state}" for state in DriverState),
    "stop: no trace",
    "find: silent",
    "find: being submitted",
    *(f"driver: exits {code.name}" for code in ExitCode),
    "driver: dies unopened",
    "driver: publishes",
    "driver: replays a batch",
    "table: refuses a late commit",
    *(f"hold: {kind}" for kind in HELD),
    *(f"halt: {kind}" for kind in HALTING),
    *(f"go on: {kind}" for kind in POLICIES if POLICIES[kind].budget != 1),
    *(f"reconcile: {kind}" for kind in ActionKind),
    *(f"asked: {asked}" for asked in UnitCommand),
    *(f"force: {how}" for how in ("recorded", "refused")),
    *(f"resume: {how}" for how in ("lifted", "refused")),
    *(f"watch: {state}" for state in WatchState),
    *(f"hint: {hint}" for hint in Hint),
    *(f"run: {end}" for end in ("green", "red", "retried", "skipped")),
    *(f"crash at: {call}" for call in PORT_CALLS),
    *(f"fault: {fault}" for fault in FAULTS),
)


class Tally(Counter[str]):
    """How often each transition was seen."""

    def missing(self) -> list[str]:
        """Return the transitions that were never seen."""
        return [name for name in TRANSITIONS if not self[name]]

    def unknown(self) -> list[str]:
        """Return what was counted and is no transition: a misspelt name counts for nothing."""
        return sorted(self.keys() - set(TRANSITIONS))

    def lines(self) -> Iterable[str]:
        """Yield a table, one line per transition."""
        width = max(map(len, TRANSITIONS))
        for name in TRANSITIONS:
            yield f"{name:<{width}}  {self[name]:>11,}"
