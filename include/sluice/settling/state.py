"""What the log of a settled table says: how far it is settled, what was examined, and what a person decided since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sluice.intervals.arrivals import ArrivalClocks
from sluice.intervals.entries import (
    AdvanceEntry,
    ExaminedSource,
    Logged,
    SettleEntry,
    StreamEntry,
    WithdrawnEntry,
)
from sluice.intervals.ledger import fold
from sluice.intervals.reach import Reach, topic_name
from sluice.intervals.writers import topic_of
from sluice.settling.ports import SettledState
from sluice.settling.rules import SettlingRules


def settled_state(
    newest_first: Iterable[Logged],
    version: int,
    rules: Mapping[str, SettlingRules],
    beginning: Mapping[str, Reach] | None = None,
) -> SettledState:
    """Return where a settler goes on.

    A table that only former versions have written, by appending, is settled as far as they closed it, and examined as
    far as they read: what they dropped until then is on record as theirs.

    Args:
        newest_first: the table's log; read as far as the newest settlement.
        version: of the table.
        rules: of each topic that the pipeline reads.
        beginning: what the pipeline never reads of each topic, if nothing was written yet; a topic that is missing
            begins with its raw table.
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
        begun = {name: ExaminedSource(reach.offsets, reach.topics) for name, reach in (beginning or {}).items()}
        return _since(SettledState(version, sources=begun), decided, rules)
    return _since(_appended(streamed, decided, version, rules), decided, rules)


def _settled(entry: SettleEntry, at: int, version: int) -> SettledState:
    return SettledState(version, entry.settled_until, entry.sources, entry.nonce, decided_at=at)


def _appended(
    streamed: list[Logged], decided: list[Logged], version: int, rules: Mapping[str, SettlingRules]
) -> SettledState:
    commits = sorted([*streamed, *decided], key=lambda logged: logged.version)
    newest = streamed[0]
    assert isinstance(newest.entry, StreamEntry)  # noqa: S101 - it was put there as one
    name = topic_name(next(iter(newest.entry.end), ""))
    own = rules.get(name) or next(iter(rules.values()))
    closed = fold(commits, own.length).closed_until
    writers = [logged.entry.writer for logged in reversed(streamed) if isinstance(logged.entry, StreamEntry)]
    topics = tuple(dict.fromkeys(filter(None, map(topic_of, writers))))
    base = None if closed is None else closed + own.margin
    clocks = ArrivalClocks(base=base, lead=None if base is None else base - newest.at)
    sources = {name: ExaminedSource(newest.entry.end, topics, clocks)}
    return SettledState(version, closed, sources, decided_at=newest.version)


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
