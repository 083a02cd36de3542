"""What the log of a settled table says: how far it is settled, what was examined, and what a person decided since."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sluice.intervals.arrivals import ArrivalClocks
from sluice.intervals.entries import AdvanceEntry, Logged, SettleEntry, StreamEntry, WithdrawnEntry
from sluice.intervals.ledger import fold
from sluice.intervals.reach import Reach
from sluice.intervals.writers import topic_of
from sluice.settling.ports import SettledState
from sluice.settling.rules import SettlingRules


def settled_state(
    newest_first: Iterable[Logged], version: int, rules: SettlingRules, beginning: Reach | None = None
) -> SettledState:
    """Return where a settler goes on.

    A table that only former versions have written, by appending, is settled as far as they closed it, and examined as
    far as they read: what they dropped until then is on record as theirs.

    Args:
        newest_first: the table's log; read as far as the newest settlement.
        version: of the table.
        rules: the pipeline's.
        beginning: what the pipeline never checks, if nothing was written yet; None: it begins with the raw table.
    """
    decided: list[Logged] = []
    streamed: list[Logged] = []
    for logged in newest_first:
        match logged.entry:
            case SettleEntry() as entry:
                return _since(_settled(entry, logged.version, version), decided, rules)
            case WithdrawnEntry() | AdvanceEntry():
                decided.append(logged)
            case StreamEntry():
                streamed.append(logged)
    if not streamed:
        return _since(SettledState(version, examined=beginning or Reach({})), decided, rules)
    return _since(_appended(streamed, decided, version, rules), decided, rules)


def _settled(entry: SettleEntry, at: int, version: int) -> SettledState:
    return SettledState(
        version,
        entry.settled_until,
        entry.reach,
        entry.clocks,
        entry.first_event,
        entry.nonce,
        decided_at=at,
        disorder=entry.disorder,
    )


def _appended(streamed: list[Logged], decided: list[Logged], version: int, rules: SettlingRules) -> SettledState:
    commits = sorted([*streamed, *decided], key=lambda logged: logged.version)
    closed = fold(commits, rules.length).closed_until
    newest = streamed[0]
    assert isinstance(newest.entry, StreamEntry)  # noqa: S101 - it was put there as one
    writers = [logged.entry.writer for logged in reversed(streamed) if isinstance(logged.entry, StreamEntry)]
    topics = tuple(dict.fromkeys(filter(None, map(topic_of, writers))))
    base = None if closed is None else closed + rules.margin
    clocks = ArrivalClocks(base=base, lead=None if base is None else base - newest.at)
    return SettledState(version, closed, Reach(newest.entry.end, topics), clocks, decided_at=newest.version)


def _since(state: SettledState, decided: list[Logged], rules: SettlingRules) -> SettledState:
    """Apply what persons decided since, the oldest first."""
    for logged in reversed(decided):
        state = replace(state, decided_at=max(state.decided_at, logged.version))
        match logged.entry:
            case WithdrawnEntry(since=since) if state.settled_until is not None and since < state.settled_until:
                clocks = state.clocks.withdrawn(since + rules.margin)
                state = replace(state, settled_until=since, clocks=clocks)
            case AdvanceEntry(until=None):
                state = replace(state, clocks=replace(state.clocks, unconfirmed={}))
            case AdvanceEntry(until=until):
                state = replace(state, believed_until=until)
            case _:
                pass
    return state
