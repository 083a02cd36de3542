"""What the log of a settled table says: how far it is settled, what was examined, and what a person decided since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sluice.intervals.arrivals import ArrivalClocks
from sluice.intervals.entries import AdvanceEntry, ExaminedSource, Logged, SettleEntry, WithdrawnEntry
from sluice.intervals.reach import Reach
from sluice.settling.ports import SettledState
from sluice.settling.rules import SettlingRules


def settled_state(
    newest_first: Iterable[Logged],
    version: int,
    rules: Mapping[str, SettlingRules],
    beginning: Mapping[str, Reach] | None = None,
) -> SettledState:
    """Return where a settler goes on.

    Args:
        newest_first: the table's log; read as far as the newest settlement.
        version: of the table.
        rules: of each topic that the pipeline reads.
        beginning: what the pipeline never reads of each topic, if nothing was written yet; a topic that is missing
            begins with its raw table.
    """
    decided: list[Logged] = []
    for logged in newest_first:
        match logged.entry:
            case SettleEntry() as entry:
                state = SettledState(
                    version, entry.settled_until, entry.sources, entry.nonce, decided_at=logged.version
                )
                return _since(state, decided, rules)
            case WithdrawnEntry() | AdvanceEntry():
                decided.append(logged)
    begun = {name: ExaminedSource(reach.offsets, reach.topics) for name, reach in (beginning or {}).items()}
    return _since(SettledState(version, sources=begun), decided, rules)


def _since(state: SettledState, decided: list[Logged], rules: Mapping[str, SettlingRules]) -> SettledState:
    """Apply what persons decided since, the oldest first."""
    for logged in reversed(decided):
        state = replace(state, decided_at=max(state.decided_at, logged.version))
        match logged.entry:
            case WithdrawnEntry(since=since) if state.settled_until is not None and since < state.settled_until:
                clocks = {
                    name: source.clocks.withdrawn(since + rules[name].margin)
                    for name, source in state.sources.items()
                    if name in rules
                }
                state = replace(_with_clocks(state, clocks), settled_until=since)
            case AdvanceEntry(until=None):
                refused = {name: replace(each.clocks, unconfirmed={}) for name, each in state.sources.items()}
                state = _with_clocks(state, refused)
            case AdvanceEntry(until=until):
                state = replace(state, believed_until=until)
            case _:
                pass
    return state


def _with_clocks(state: SettledState, clocks: Mapping[str, ArrivalClocks]) -> SettledState:
    changed = {name: replace(state.sources[name], clocks=own) for name, own in clocks.items()}
    return replace(state, sources={**state.sources, **changed})
