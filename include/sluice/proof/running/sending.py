"""Sends the records of a proof at a declared rate, and keeps their journal."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Self

from sluice.errors import UnreachableError
from sluice.feeds.ports import Acknowledgement, Producer
from sluice.proof.journal import RecordFate, SendJournal, SentRecord
from sluice.proof.journal_file import line_of_acknowledgement, line_of_failure, line_of_sending, read_journal
from sluice.topics.records import RecordPosition

KEYS = 8
CLOSING = "closing"
"""The key of what is sent at the end to close the intervals."""


class ProofSender:
    """One or more producers, each with keys of its own.

    Args:
        producers: connected to the topic; key n belongs to the one with the number n modulo their number.
        file: of the journal; it must not exist yet.
        now: seconds since 1970.
    """

    def __init__(self, producers: tuple[Producer, ...], file: Path, now: Callable[[], float]) -> None:
        self._producers, self._path, self._now = producers, file, now
        self._file = file.open("x", encoding="utf-8")
        self._numbers = [0] * len(producers)
        self._sequences: dict[str, int] = {}
        self._waiting: deque[tuple[str, Acknowledgement]] = deque()
        self.values: dict[bytes, str] = {}
        """The id of each value that was sent."""
        self.positions: dict[RecordPosition, str] = {}
        """The id of the record that was acknowledged at a position."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def sent(self) -> int:
        """How many records were sent."""
        return len(self.values)

    def send(
        self, value: bytes, key: str = "", partition: int | None = None, *, fate: RecordFate = RecordFate.GOOD
    ) -> None:
        """Note a record, and what it was made to be, and send it; without a key the keys take turns."""
        owner = self.sent % KEYS % len(self._producers) if not key else 0
        key = key or f"key-{self.sent % KEYS}"
        if value in self.values:
            raise ValueError(f"two records have the bytes {value!r}")
        identity = f"p{owner}-{self._numbers[owner]}"
        sequence = self._sequences.get(key, 0)
        record = SentRecord(
            identity,
            f"p{owner}",
            self._numbers[owner],
            key,
            sequence,
            checksum(value),
            round(self._now(), 3),
            fate=fate,
        )
        self._numbers[owner] += 1
        self._sequences[key] = sequence + 1
        self.values[value] = identity
        self._write(line_of_sending(record))
        self._file.flush()  # before it is sent: a record in the topic is in the journal, whenever this process dies
        try:
            answer = self._producers[owner].send(key.encode(), value, partition)
        except UnreachableError:  # it was not even queued
            self._write(line_of_failure(identity))
        else:
            self._waiting.append((identity, answer))

    def collect(self, *, wait: bool = False) -> None:
        """Note the answers that are here; with `wait`, all of them. What was given up stays unknown."""
        while self._waiting and (wait or self._waiting[0][1].done()):
            identity, answer = self._waiting.popleft()
            try:
                position = answer.wait()
            except UnreachableError:
                continue
            self.positions[position] = identity
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
