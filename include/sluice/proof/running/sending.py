"""Sends the records of a proof at a declared rate, and keeps their journal."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Self

from sluice.errors import UnreachableError
from sluice.feeds.ports import Acknowledgement, Producer
from sluice.proof.generation.made import MadeRecord
from sluice.proof.journal import SendJournal, SentRecord
from sluice.proof.journal_file import line_of_acknowledgement, line_of_failure, line_of_sending, read_journal
from sluice.topics.records import RecordPosition, RecordTooLargeError

KEYS = 8
CLOSING = "closing"
"""The key of what is sent at the end to close the intervals."""


class ProofSender:
    """One or more producers for each topic, each with keys of its own.

    Args:
        producers: of each topic; key n belongs to the one with the number n modulo their number.
        file: of the journal; it must not exist yet.
        now: seconds since 1970.
    """

    def __init__(self, producers: Mapping[str, tuple[Producer, ...]], file: Path, now: Callable[[], float]) -> None:
        self._producers, self._path, self._now = producers, file, now
        self._first = {topic: sum(map(len, list(producers.values())[:n])) for n, topic in enumerate(producers)}
        """The number of the first producer of each topic among all of them."""
        self._file = file.open("x", encoding="utf-8")
        self._numbers: Counter[str] = Counter()
        self._sequences: Counter[tuple[str, str]] = Counter()
        self._waiting: deque[tuple[str, str, Acknowledgement]] = deque()
        self.ids: list[str] = []
        """All ids, in the order in which the records were sent."""
        self.values: Mapping[str, dict[bytes, str]] = {topic: {} for topic in producers}
        """The id of each value that was sent to a topic."""
        self.positions: Mapping[str, dict[RecordPosition, str]] = {topic: {} for topic in producers}
        """The id of the record that was acknowledged at a position of a topic."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def sent(self) -> int:
        """How many records were sent."""
        return len(self.ids)

    def sent_to(self, topic: str) -> int:
        """Return how many records were sent to a topic."""
        return len(self.values[topic])

    def send(self, topic: str, made: MadeRecord, key: str = "", partition: int | None = None) -> None:
        """Note a record, and what it was made to be, and send it; without a key the keys of the topic take turns."""
        values, producers = self.values[topic], self._producers[topic]
        turn = len(values) % KEYS
        owner = turn % len(producers) if not key else 0
        key = key or f"key-{turn}"
        if made.value in values:
            raise ValueError(f"two records of {topic} have the bytes {made.value!r}")
        name = f"p{self._first[topic] + owner}"
        number, sequence = self._numbers[name], self._sequences[topic, key]
        record = SentRecord(
            f"{name}-{number}",
            name,
            number,
            key,
            sequence,
            checksum(made.value),
            round(self._now(), 3),
            fate=made.fate,
            reason=made.reason,
            topic=topic,
        )
        self._numbers[name] += 1
        self._sequences[topic, key] += 1
        values[made.value] = record.id
        self.ids.append(record.id)
        self._write(line_of_sending(record))
        self._file.flush()  # before it is sent: a record in the topic is in the journal, whenever this process dies
        try:
            answer = producers[owner].send(key.encode(), made.value, partition)
        except (RecordTooLargeError, UnreachableError):  # it was not even queued
            self._write(line_of_failure(record.id))
        else:
            self._waiting.append((topic, record.id, answer))

    def collect(self, *, wait: bool = False) -> None:
        """Note the answers that are here; with `wait`, all of them. What was given up stays unknown."""
        while self._waiting and (wait or self._waiting[0][2].done()):
            topic, identity, answer = self._waiting.popleft()
            try:
                position = answer.wait()
            except UnreachableError:
                continue
            self.positions[topic][position] = identity
            self._write(line_of_acknowledgement(identity, position))
        self._file.flush()

    def journal(self) -> SendJournal:
        """Return the journal as the file has it."""
        self._file.flush()
        with self._path.open(encoding="utf-8") as lines:
            return read_journal(lines)

    def _write(self, line: str) -> None:
        self._file.write(f"{line}\n")


def checksum(value: bytes) -> str:
    """Return the checksum of a record's bytes."""
    return sha256(value).hexdigest()[:16]
