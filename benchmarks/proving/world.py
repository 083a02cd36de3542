"""A small world in memory: producers with a journal, a topic of partitions, and what is true of every record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from random import Random
from zlib import crc32

from sluice.proof.journal import SendJournal, SendOutcome, SentRecord
from sluice.topics.records import RecordPosition

LATENESS = 120.0
"""Seconds; what comes later is late."""
_DISORDER, _VERY_LATE = 60.0, 900.0


@dataclass(frozen=True)
class Load:
    """What is sent.

    Attributes:
        seed: of everything that is drawn.
        records: how many, at an even rate over `seconds`.
        seconds: how long.
        late: the share that comes too late for its interval.
        failed: the share that the broker refuses for good.
        unknown: the share of which nothing is heard; half of them are in the topic.
    """

    seed: int
    records: int = 400
    seconds: float = 200.0
    keys: int = 7
    partitions: int = 3
    late: float = 0.02
    failed: float = 0.01
    unknown: float = 0.01


@dataclass(frozen=True)
class Logged:
    """A record as the topic holds it.

    Attributes:
        sent: as its producer knows it.
        position: where it is.
        happened: its event time, in seconds.
        amount: its value.
    """

    sent: SentRecord
    position: RecordPosition
    happened: float
    amount: int

    @property
    def is_late(self) -> bool:
        """Whether it came too late for its interval."""
        return self.sent.sent_at - self.happened > LATENESS


class World:
    """The journal of the producers, the topic, and the fault that is to strike."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.draw = Random(load.seed)  # noqa: S311 - nothing to keep secret
        self.topic: dict[int, list[Logged]] = {partition: [] for partition in range(load.partitions)}
        self.refused: list[Logged] = []
        sequences: dict[str, int] = defaultdict(int)
        numbers: dict[str, int] = defaultdict(int)
        self.journal = SendJournal(tuple(self._sent(number, sequences, numbers) for number in range(load.records)))
        self.crash_at = load.seconds * self.draw.uniform(0.3, 0.7)

    def _sent(self, number: int, sequences: dict[str, int], numbers: dict[str, int]) -> SentRecord:
        load, draw = self.load, self.draw
        key = f"key-{draw.randrange(load.keys)}"
        partition = int(key[4:]) % load.partitions
        producer = f"producer-{partition}"
        at = number * load.seconds / load.records
        happened = at - (_VERY_LATE if draw.random() < load.late else draw.uniform(0, _DISORDER))
        amount, dice = draw.randrange(1_000), draw.random()
        outcome = SendOutcome.ACKNOWLEDGED
        if dice < load.failed + load.unknown:
            outcome = SendOutcome.FAILED if dice < load.failed else SendOutcome.UNKNOWN
        is_there = outcome is SendOutcome.ACKNOWLEDGED or (outcome is SendOutcome.UNKNOWN and draw.random() < 0.5)  # noqa: PLR2004
        position = RecordPosition(partition, len(self.topic[partition]))
        known = position if outcome is SendOutcome.ACKNOWLEDGED else None
        counted = numbers[producer], sequences[key]
        record = SentRecord(f"r{number}", producer, counted[0], key, counted[1], checksum(amount), at, outcome, known)
        numbers[producer] += 1
        sequences[key] += 1
        logged = Logged(record, position, happened, amount)
        if is_there:
            self.topic[partition].append(logged)
        elif outcome is SendOutcome.FAILED:
            self.refused.append(logged)
        return record

    @cached_property
    def in_topic(self) -> list[Logged]:
        """All records of the topic, in the order in which they were sent."""
        return sorted((each for log in self.topic.values() for each in log), key=lambda each: each.sent.sent_at)

    @property
    def ends(self) -> Mapping[int, tuple[int, int]]:
        """Return per partition its first offset and the one after its last."""
        return {partition: (0, len(log)) for partition, log in self.topic.items()}

    def of_ids(self, *, late: bool) -> frozenset[str]:
        """Return the ids of all that was sent that is late, or on time; of what is not in the topic, both."""
        there = {logged.sent.id: logged.is_late for logged in self.in_topic}
        return frozenset(sent.id for sent in self.journal if there.get(sent.id, late) is late)

    def true_sums(self, minutes: int, *, with_late: bool) -> Mapping[tuple[int, str], tuple[int, int]]:
        """Return records and sum of amounts per window of so many minutes and key, from the topic alone."""
        found: dict[tuple[int, str], tuple[int, int]] = {}
        for logged in self.in_topic:
            if with_late or not logged.is_late:
                cell = int(logged.happened // (60 * minutes)), logged.sent.key
                count, total = found.get(cell, (0, 0))
                found[cell] = count + 1, total + logged.amount
        return found


def checksum(amount: int) -> str:
    """Return the checksum of what an output shows of a record."""
    return f"{crc32(str(amount).encode()):08x}"
