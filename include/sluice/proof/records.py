"""Outputs of one row per record, against the journal: nothing lost, nothing twice, nothing else, and in order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from sluice.proof.findings import ProofFault, ProofFinding, of_cases
from sluice.proof.journal import SendJournal, SendOutcome, SentRecord
from sluice.proof.observations import ObservedKind, ObservedLatest, ObservedRecord, ObservedRecords
from sluice.topics.records import RecordPosition

_Cases = list[tuple[str, str]]


def check_records(journal: SendJournal, output: ObservedRecords) -> Iterator[ProofFinding]:
    """Yield what is wrong with an output's records; the topic's own ends are not asked.

    An output that was not read to its end can lack what it has, so nothing is lost in it.
    """
    yield from _unsent(journal, output)
    yield from _repeated(output)
    yield from _changed(journal, output)
    if output.is_ordered:
        yield from of_cases(ProofFault.REORDERED, output.name, _reordered(journal, output))
    if output.is_complete:
        yield from _lost(journal, output)
    else:
        yield ProofFinding(ProofFault.NOT_READ, output.name, 1, output.name)


def check_conservation(output: ObservedRecords, ends: Mapping[int, tuple[int, int]]) -> Iterator[ProofFinding]:
    """Yield what the raw records lack of the topic's offsets, those of unknown records too.

    Args:
        output: of kind raw, and complete.
        ends: per partition its first offset and the one after its last; no offset is without a record. Without them
            nobody knows.
    """
    if output.kind is not ObservedKind.RAW or not output.is_complete:
        return
    if not ends:
        yield ProofFinding(ProofFault.NOT_READ, output.name, 1, "the topic", "its ends are not known")
        return
    seen: dict[int, set[int]] = defaultdict(set)
    for record in output.records:
        if record.position is not None:
            seen[record.position.partition].add(record.position.offset)
    missing, beyond = _Cases(), _Cases()
    for partition, (first, end) in sorted(ends.items()):
        gaps = [offset for offset in range(first, end) if offset not in seen[partition]]
        missing += [(f"{partition}/{offset}", f"of {first} to {end - 1}") for offset in gaps]
    for partition, offsets in sorted(seen.items()):
        first, end = ends.get(partition, (0, 0))
        beyond += [
            (f"{partition}/{offset}", "the topic has no such offset") for offset in offsets - {*range(first, end)}
        ]
    yield from of_cases(ProofFault.GAP, output.name, missing)
    yield from of_cases(ProofFault.PHANTOM, output.name, beyond)


def check_latest(journal: SendJournal, output: ObservedLatest) -> Iterator[ProofFinding]:
    """Yield what is wrong with the newest record of each key."""
    newest: dict[str, int] = {}
    sent: dict[tuple[str, int], SentRecord] = {}
    for record in journal:
        sent[record.key, record.sequence] = record
        if record.outcome is SendOutcome.ACKNOWLEDGED:
            newest[record.key] = record.sequence
    cases: dict[ProofFault, _Cases] = defaultdict(list)
    for key in sorted(newest.keys() - output.rows.keys()):
        cases[ProofFault.LOST].append((key, "the key has no row"))
    for key, (sequence, checksum) in sorted(output.rows.items()):
        shown = sent.get((key, sequence))
        if shown is None:
            cases[ProofFault.PHANTOM].append((key, f"sequence {sequence} was not sent"))
        elif shown.outcome is SendOutcome.FAILED:
            cases[ProofFault.FAILED_SEEN].append((shown.id, f"key {key}"))
        elif shown.checksum != checksum:
            cases[ProofFault.ALTERED].append((shown.id, f"key {key}"))
        elif sequence < newest.get(key, sequence):
            cases[ProofFault.STALE].append((key, f"sequence {sequence} instead of {newest[key]}"))
    for fault, found in cases.items():
        yield from of_cases(fault, output.name, found)


def _unsent(journal: SendJournal, output: ObservedRecords) -> Iterator[ProofFinding]:
    """Yield what must not be there."""
    phantom, failed = _Cases(), _Cases()
    for identity in dict.fromkeys(record.id for record in output.records):
        sent = journal.by_id.get(identity)
        if sent is None:
            phantom.append((identity, "nobody sent it"))
        elif sent.outcome is SendOutcome.FAILED:
            failed.append((identity, f"sent by {sent.producer}"))
        elif output.expected is not None and identity not in output.expected:
            phantom.append((identity, "it belongs into another output"))
    yield from of_cases(ProofFault.PHANTOM, output.name, phantom)
    yield from of_cases(ProofFault.FAILED_SEEN, output.name, failed)


def _repeated(output: ObservedRecords) -> Iterator[ProofFinding]:
    """Yield what is there more than once: written twice by the pipeline, or twice in the topic."""
    times = Counter(record.id for record in output.records)
    places: dict[str, set[RecordPosition | None]] = defaultdict(set)
    for record in output.records:
        if times[record.id] > 1:
            places[record.id].add(record.position)
    cases = [
        (identity, f"{times[identity]} times, " + ("the producer's" if len(where) > 1 else "the pipeline's"))
        for identity, where in places.items()
    ]
    yield from of_cases(ProofFault.TWICE, output.name, cases)


def _changed(journal: SendJournal, output: ObservedRecords) -> Iterator[ProofFinding]:
    altered, moved = _Cases(), _Cases()
    for record in output.records:
        sent = journal.by_id.get(record.id)
        if sent is None:
            continue
        if record.checksum != sent.checksum:
            altered.append((record.id, f"checksum {record.checksum} instead of {sent.checksum}"))
        if record.position is not None and sent.position not in (None, record.position):
            moved.append((record.id, f"at {record.position} instead of {sent.position}"))
    yield from of_cases(ProofFault.ALTERED, output.name, altered)
    yield from of_cases(ProofFault.MOVED, output.name, moved)


def _reordered(journal: SendJournal, output: ObservedRecords) -> _Cases:
    """Return the records behind which a newer one of their key came first; repetitions are another matter."""
    newest: dict[tuple[str, str], SentRecord] = {}
    seen, cases = set[str](), _Cases()
    for record in output.records:
        sent = journal.by_id.get(record.id)
        if sent is None or record.id in seen:
            continue
        seen.add(record.id)
        before = newest.setdefault(sent.ordered_by, sent)
        if sent.sequence < before.sequence:
            cases.append((record.id, f"sequence {sent.sequence} of key {sent.key} behind {before.sequence}"))
        else:
            newest[sent.ordered_by] = sent
    return cases


def _lost(journal: SendJournal, output: ObservedRecords) -> Iterator[ProofFinding]:
    seen = {record.id for record in output.records}
    span = _spans(journal, output.records)
    cases: dict[ProofFault, _Cases] = defaultdict(list)
    for sent in journal.acknowledged:
        if sent.id in seen or (output.expected is not None and sent.id not in output.expected):
            continue
        cases[_where_lost(sent, span)].append((sent.id, f"key {sent.key}, acknowledged at {sent.position}"))
    for fault in sorted(cases):
        yield from of_cases(fault, output.name, cases[fault])


_Spans = Mapping[tuple[str, int], tuple[int, int]]


def _spans(journal: SendJournal, records: tuple[ObservedRecord, ...]) -> _Spans:
    """Return per topic and partition the first and the last offset that came out."""
    spans: dict[tuple[str, int], tuple[int, int]] = {}
    for record in records:
        sent = journal.by_id.get(record.id)
        place = None if sent is None else sent.position
        if sent is not None and place is not None:
            where = sent.topic, place.partition
            first, last = spans.get(where, (place.offset, place.offset))
            spans[where] = min(first, place.offset), max(last, place.offset)
    return spans


def _where_lost(sent: SentRecord, spans: _Spans) -> ProofFault:
    place = sent.position
    if place is None or (sent.topic, place.partition) not in spans:
        return ProofFault.LOST
    first, last = spans[sent.topic, place.partition]
    if place.offset < first:
        return ProofFault.LOST_HEAD
    return ProofFault.LOST_TAIL if place.offset > last else ProofFault.LOST
