"""What producers have sent: each record with its id, its place in the order of its key, and how the sending ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from sluice.proof.generation.made import RecordFate
from sluice.topics.records import RecordPosition
from sluice.wording import ExplainedEnum


class SendOutcome(ExplainedEnum):
    """How the sending of a record ended, as far as its producer knows."""

    ACKNOWLEDGED = "acknowledged", "the broker has said where the record is, so it must be in every output once"
    FAILED = "failed", "the broker has refused the record for good, so it must be in no output"
    UNKNOWN = "unknown", "nothing was heard in time, so the record may be in every output once, or in none"


@dataclass(frozen=True, slots=True)
class SentRecord:
    """A record and what became of its sending.

    Attributes:
        id: names it among all records of the proof.
        producer: that sent it.
        number: its place among the producer's records, from 0.
        key: whose order counts in its topic; all records of a key are of one producer there.
        sequence: its place among the records of its key in the topic, from 0.
        checksum: of what an output must show of it.
        sent_at: when it was handed to the client, in seconds since 1970.
        outcome: how that ended.
        position: where it is in the topic; None unless it is acknowledged.
        fate: what it was made to be: only good records are in the outputs beside the raw table.
        reason: for which it must be quarantined; empty where any reason does, or none.
        topic: that it was sent to; empty where there is only one.
    """

    id: str
    producer: str
    number: int
    key: str
    sequence: int
    checksum: str
    sent_at: float
    outcome: SendOutcome = SendOutcome.UNKNOWN
    position: RecordPosition | None = None
    fate: RecordFate = RecordFate.GOOD
    reason: str = ""
    topic: str = ""

    @property
    def ordered_by(self) -> tuple[str, str]:
        """Names the records whose order counts: those of a key in a topic."""
        return self.topic, self.key


@dataclass(frozen=True)
class SendJournal:
    """All records of a proof, in the order in which each producer sent them."""

    records: tuple[SentRecord, ...]

    def __iter__(self) -> Iterator[SentRecord]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    @cached_property
    def by_id(self) -> Mapping[str, SentRecord]:
        """Return the records by their ids."""
        return {record.id: record for record in self.records}

    def of(self, topic: str) -> SendJournal:
        """Return the records that were sent to a topic; all of them if it is empty."""
        return self._by_topic.get(topic, SendJournal(())) if topic else self

    @cached_property
    def _by_topic(self) -> Mapping[str, SendJournal]:
        found: dict[str, list[SentRecord]] = defaultdict(list)
        for record in self.records:
            found[record.topic].append(record)
        return {topic: SendJournal(tuple(records)) for topic, records in found.items()}

    @cached_property
    def acknowledged(self) -> tuple[SentRecord, ...]:
        """Return those that must be there."""
        return tuple(record for record in self.records if record.outcome is SendOutcome.ACKNOWLEDGED)

    def count(self, outcome: SendOutcome) -> int:
        """Return how many sendings ended so."""
        return sum(record.outcome is outcome for record in self.records)

    def faults(self) -> Iterator[str]:
        """Yield why the journal itself cannot be believed, in words; nothing for a sound one."""
        yield from _gaps("producer", ((record.producer, record.number) for record in self.records))
        yield from _gaps("key", ((record.ordered_by, record.sequence) for record in self.records))
        if twice := len(self.records) - len(self.by_id):
            yield f"{twice} ids stand in it more than once"
        owners: dict[tuple[str, str], str] = {}
        for record in self.records:
            if owners.setdefault(record.ordered_by, record.producer) != record.producer:
                yield f"key {record.key!r} is sent by {owners[record.ordered_by]} and by {record.producer}"
                break
        if lacking := next((record.id for record in self.acknowledged if record.position is None), None):
            yield f"{lacking} is acknowledged and has no position"


def _gaps(what: str, numbered: Iterable[tuple[str | tuple[str, str], int]]) -> Iterator[str]:
    """Yield the first place where numbers of a producer or key do not go up by one."""
    due: dict[str | tuple[str, str], int] = {}
    for name, number in numbered:
        if number != due.get(name, 0):
            shown = name if isinstance(name, str) else name[1]
            yield f"{what} {shown!r} goes from {due.get(name, 0) - 1} to {number}"
            return
        due[name] = number + 1
