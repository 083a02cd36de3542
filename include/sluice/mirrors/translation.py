"""Where in the target a stream goes on: found among the copied records themselves, each of which says where it was.

MirrorMaker's own pairs of offsets are noted now and then, and between two of them nobody counts. Here every record from
the position on is looked at, so what is lost and what is double is known to the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sluice.topics.records import Record


@dataclass(frozen=True, slots=True)
class CopiedRecord:
    """A record of the target.

    Attributes:
        offset: there.
        origin: its offset in the source; None of one that this mirror has not copied.
    """

    offset: int
    origin: int | None


@dataclass(frozen=True)
class PartitionTranslation:
    """Where one partition goes on in the target.

    Attributes:
        position: the next offset in the source.
        at: the next offset in the target.
        end: the offset there after the last record.
        copied: the source's offset after the last record that was copied; None if none is left.
        source_end: the source's end; None if it did not answer.
        waiting: records in the target from `at` on.
        doubles: of these, those that the stream has read before, or reads twice.
    """

    position: int
    at: int
    end: int
    copied: int | None = None
    source_end: int | None = None
    waiting: int = 0
    doubles: tuple[CopiedRecord, ...] = ()

    @property
    def reached(self) -> int:
        """The source's offset up to which tables and target have all records between them."""
        return self.position if self.copied is None else max(self.position, self.copied)

    @property
    def lost(self) -> tuple[int, int] | None:
        """The range [first, end) of the source that was neither copied nor read; None if its end is unknown."""
        return None if self.source_end is None else (self.reached, max(self.reached, self.source_end))


def copied_record(record: Record, header: str) -> CopiedRecord:
    """Return what a record of the target says of itself."""
    said = [value for name, value in record.headers if name == header]
    text = said[-1] if said else None
    return CopiedRecord(record.offset, int(text) if text is not None and text.isdigit() else None)


def reaches_back(tail: Sequence[CopiedRecord], position: int) -> bool:
    """Whether a tail of the target begins early enough for `translate`: what lies before it can all be left out.

    Records are copied once and in order. A tail that contradicts that says nothing of what lies before it.
    """
    origins = [copy.origin for copy in tail if copy.origin is not None]
    ordered = all(first < second for first, second in pairwise(origins))
    return ordered and bool(tail) and tail[0].origin is not None and tail[0].origin < position


def translate(
    tail: Iterable[CopiedRecord], position: int, *, end: int, source_end: int | None = None
) -> PartitionTranslation:
    """Return where a stream goes on that has read the source up to `position`.

    No record that was copied and not read is left out; where that leaves a choice, as few as possible are double.

    Args:
        tail: records of the target by offset, up to its end; see `reaches_back`.
        position: the next offset in the source.
        end: of the target.
        source_end: of the source; None: it does not answer.
    """
    copies = list(tail)
    newest = {copy.origin: copy.offset for copy in copies if copy.origin is not None and copy.origin >= position}
    own = [copy.offset for copy in copies if copy.origin is None]  # sent to the target itself: news to the stream
    at = min([*newest.values(), *own], default=end)
    waiting = [copy for copy in copies if copy.offset >= at]
    seen, doubles = set[int](), list[CopiedRecord]()
    for copy in waiting:
        if copy.origin is not None and (copy.origin < position or copy.origin in seen):
            doubles.append(copy)
        elif copy.origin is not None:
            seen.add(copy.origin)
    copied = max((copy.origin + 1 for copy in copies if copy.origin is not None), default=None)
    return PartitionTranslation(position, at, end, copied, source_end, len(waiting), tuple(doubles))


@dataclass(frozen=True)
class Comparison:
    """What a comparison of both clusters found in one partition.

    Attributes:
        records: that were compared.
        missing: the source's offsets without a copy.
        differing: the source's offsets whose copy has another key, value, time or header.
        twice: the target's offsets of further copies.
    """

    records: int
    missing: tuple[int, ...] = ()
    differing: tuple[int, ...] = ()
    twice: tuple[int, ...] = ()

    @property
    def alike(self) -> bool:
        """Whether every record has one copy, which says the same."""
        return not (self.missing or self.differing or self.twice)


def compare(records: Iterable[Record], copies: Iterable[Record], header: str) -> Comparison:
    """Compare records of the source with their copies, record by record.

    Args:
        records: of one partition of the source, from some offset on.
        copies: of the same partition of the target; those of earlier records, and of none, are passed over.
        header: that holds the source's offset.
    """
    wanted, found = {record.offset: record for record in records}, dict[int, Record]()
    twice, differing = list[int](), list[int]()
    for copy in copies:
        origin = copied_record(copy, header).origin
        if origin is None or origin not in wanted:
            continue
        if origin in found:
            twice.append(copy.offset)
        found[origin] = copy
        if _content(wanted[origin], header) != _content(copy, header):
            differing.append(origin)
    missing = tuple(sorted(wanted.keys() - found.keys()))
    return Comparison(len(wanted), missing, tuple(sorted(set(differing))), tuple(twice))


def _content(record: Record, header: str) -> tuple[object, ...]:
    headers = tuple(each for each in record.headers if each[0] != header)
    return record.at, record.key, record.value, headers
