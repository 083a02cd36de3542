"""Outputs of rows that a transform makes: each row that is due is there, as often as was promised, and no other."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from sluice.proof.findings import ProofFault, ProofFinding, of_cases
from sluice.proof.observations import ObservedRow, ObservedRows, RowsPromise

IDLE = "no record that was sent gives it a row"
"""Why an output with nothing in it proves nothing."""
_SHOWN = 200


def check_rows(output: ObservedRows) -> Iterator[ProofFinding]:
    """Yield what is wrong with an output's rows. One that was not read to its end can lack what it has."""
    cases = _newest(output) if output.promise is RowsPromise.NEWEST else _each(output)
    for fault, found in sorted(_grouped(cases).items()):
        if fault is not ProofFault.LOST or output.is_complete:
            yield from of_cases(fault, output.name, found)
    if not output.is_complete:
        yield ProofFinding(ProofFault.NOT_READ, output.name, 1, output.name, output.why)
    elif output.is_idle:
        yield ProofFinding(ProofFault.NOT_READ, output.name, 1, output.name, IDLE)


def contents_by_key(rows: Iterable[ObservedRow]) -> dict[str, set[str]]:
    """Return the contents that the rows of each key have."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        found[row.key].add(row.content)
    return dict(found)


_Case = tuple[ProofFault, tuple[str, str]]


def _grouped(cases: Iterable[_Case]) -> dict[ProofFault, list[tuple[str, str]]]:
    found: dict[ProofFault, list[tuple[str, str]]] = defaultdict(list)
    for fault, case in cases:
        found[fault].append(case)
    return found


def _each(output: ObservedRows) -> Iterator[_Case]:
    due = Counter(row.content for row in output.expected)
    there = Counter(row.content for row in output.seen)
    made_of = {row.content: row.made_of for row in output.expected}
    if output.promise is RowsPromise.EACH:
        for content in due:
            if there[content] < due[content]:
                yield ProofFault.LOST, (_short(content), _of(made_of[content], there[content], due[content]))
    for content in there:
        if content not in due:
            yield ProofFault.PHANTOM, (_short(content), "no record gives this row")
        elif there[content] > due[content]:
            yield ProofFault.TWICE, (_short(content), _of(made_of[content], there[content], due[content]))
    if output.is_ordered:
        yield from _reordered(output)


def _reordered(output: ObservedRows) -> Iterator[_Case]:
    """Yield the rows behind which one of the same key, topic and partition came first that a newer record has made."""
    made_of = {row.content: (row.topic, row.made_of) for row in output.expected}
    newest: dict[tuple[str, str, int], int] = {}
    seen = set[str]()
    for row in output.seen:
        topic, place = made_of.get(row.content, ("", None))
        if place is None or row.content in seen:
            continue
        seen.add(row.content)
        of_key = row.key, topic, place.partition
        if place.offset < newest.get(of_key, -1):
            yield ProofFault.REORDERED, (_short(row.content), f"of {place}, behind the offset {newest[of_key]}")
        newest[of_key] = max(place.offset, newest.get(of_key, -1))


def _newest(output: ObservedRows) -> Iterator[_Case]:
    due, older, allowed = (contents_by_key(rows) for rows in (output.expected, output.older, output.allowed))
    there = {row.key: row.content for row in output.seen}
    if not output.is_ordered:  # in a topic the last row of a key counts, and a table has no last one
        times = Counter(row.key for row in output.seen)
        for key in [key for key in there if times[key] > 1]:
            del there[key]
            due.pop(key, None)
            yield ProofFault.TWICE, (_short(key), f"the key has {times[key]} rows")
    for key in due.keys() - there.keys():
        yield ProofFault.LOST, (_short(key), "the key has no row")
    for key, content in there.items():
        if content in due.get(key, ()) or content in allowed.get(key, ()):
            continue
        if content in older.get(key, ()):
            yield ProofFault.STALE, (_short(key), _short(content))
        elif key in due or key in allowed:
            wanted = next(iter({**allowed, **due}[key]))
            yield ProofFault.ROW_DIFFERS, (_short(key), f"{_short(content)} instead of {_short(wanted)}")
        else:
            yield ProofFault.PHANTOM, (_short(key), "no record gives this key")


def _of(made_of: object, there: int, due: int) -> str:
    record = f"made of the record at {made_of}, " if made_of is not None else ""
    return f"{record}{there} times instead of {due}"


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
