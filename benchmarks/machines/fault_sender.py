"""Sends numbered records to a topic, whatever happens to its brokers, and writes down what became of each.

`python -m benchmarks.machines.fault_sender BOOTSTRAP TOPIC FILE PER_SECOND`, until its standard input ends. A line of
the file is `number acknowledged`, `number unknown` (sent, and no good answer came) or `number unsent`. A record is sent
once, and never repeated: an idempotent producer of kafka-python stood still for good after two of three brokers had
died, and neither sent nor gave up what it held.
"""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Lock, Thread
from typing import IO, Any

from kafka import KafkaProducer
from kafka.errors import KafkaError

BAD_EACH = 10
"""Each tenth record is one that validation refuses."""
_GIVEN_UP_MS = 20_000


def record(number: int) -> bytes:
    """Return the record of a number."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    level = 1_000 if is_bad(number) else number % 100
    return json.dumps({"id": number, "level": level, "measured_at": now, "sent_at": now}).encode()


def is_bad(number: int) -> bool:
    """Whether validation refuses it."""
    return number % BAD_EACH == 0


class FaultSender:
    """Sends, and notes the outcome of each record."""

    def __init__(self, bootstrap: list[str], topic: str, file: IO[str]) -> None:
        self._bootstrap, self._topic, self._file = bootstrap, topic, file
        self._lock = Lock()
        self._broken = Event()
        self._producer: Any = None

    def send(self, number: int) -> None:
        """Send a record, by a new producer if the last one has given up on one."""
        try:
            if self._broken.is_set() or self._producer is None:
                self._renew()
            sent = self._producer.send(self._topic, key=str(number).encode(), value=record(number))
        except (KafkaError, OSError):
            self._note(number, "unsent")
            return
        sent.add_callback(lambda _: self._note(number, "acknowledged"))
        sent.add_errback(lambda _: self._unknown(number))

    def close(self) -> None:
        """Wait for the answers that are due."""
        if self._producer is not None:
            self._producer.flush(timeout=2 * _GIVEN_UP_MS / 1000)
            self._producer.close(timeout=5)

    def _renew(self) -> None:
        self._broken.clear()
        if self._producer is not None:
            self._producer.close(timeout=5)
        self._producer = None
        self._producer = KafkaProducer(
            bootstrap_servers=self._bootstrap,
            acks="all",
            enable_idempotence=False,
            retries=0,
            linger_ms=5,
            request_timeout_ms=_GIVEN_UP_MS // 2,
            delivery_timeout_ms=_GIVEN_UP_MS,
            max_block_ms=_GIVEN_UP_MS,
        )

    def _unknown(self, number: int) -> None:
        self._broken.set()
        self._note(number, "unknown")

    def _note(self, number: int, outcome: str) -> None:
        with self._lock:
            self._file.write(f"{number} {outcome}\n")
            self._file.flush()


def main(bootstrap: str, topic: str, file: str, per_second: str) -> None:
    """Send until the standard input ends."""
    ended = Event()
    Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    with Path(file).open("w", encoding="utf-8") as lines:
        sender, number, began = FaultSender(bootstrap.split(","), topic, lines), 0, time.monotonic()
        while not ended.wait(max(0.0, began + number / int(per_second) - time.monotonic())):
            sender.send(number)
            number += 1
        sender.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
