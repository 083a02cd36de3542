"""From a payment in the topic to the bank that is told: the example `fraud` as it ships, with a webhook as channel.

A reader of its own notes when it sees each payment in the topic, which is some milliseconds after it is there. What
follows counts: a batch of the stateful live query, the delivery to the topic of suspicions, the rule, the journal, and
the POST to the webhook.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka import KafkaConsumer, TopicPartition

from tests.integration.brokers import own_broker_in
from tests.integration.sink import running_sink
from tests.scenarios.live_example import live_example

_TOPIC = "payments"
_FEED_SECONDS = 720.0
"""An hour of payments a minute, 27 a second; the same driver settles each hour meanwhile."""
_REST_SECONDS = 15.0


def seconds_to_alert(root: Path) -> list[float]:
    """Return how many seconds each alert took, in an empty folder; each names its payment.

    Raises:
        RuntimeError: an alert came twice, or about no payment that was sent.
    """
    with own_broker_in(root / "broker") as broker, running_sink() as bank:
        hook = {"bank": {"conn_type": "http", "host": "127.0.0.1", "port": bank.server_port}}
        with live_example("fraud", root, broker, hook) as example, _seen(broker.bootstrap) as seen:
            with example.feeding(_FEED_SECONDS):
                pass
            time.sleep(_REST_SECONDS)  # what is still to come would count as never alerted
            alerted = [
                (str(each["row"]["payment"]), at)
                for each, at in zip(bank.received, bank.times, strict=True)
                if each["row"] is not None and each["state"] == "begun"
            ]
            payments = [payment for payment, _ in alerted]
            if len(set(payments)) < len(payments) or not set(payments) <= seen.keys():
                raise RuntimeError(f"{len(payments)} alerts are about {len(set(payments) & seen.keys())} payments")
            return [at - seen[payment] for payment, at in alerted]


@contextmanager
def _seen(bootstrap: str) -> Iterator[dict[str, float]]:
    """Give when each payment was first seen in the topic, in seconds since 1970, while the block runs."""
    seen: dict[str, float] = {}
    consumer: Any = KafkaConsumer(bootstrap_servers=bootstrap, fetch_max_wait_ms=10)
    partitions = [TopicPartition(_TOPIC, number) for number in sorted(consumer.partitions_for_topic(_TOPIC) or ())]
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    ended = threading.Event()

    def follow() -> None:
        while not ended.is_set():
            polled = consumer.poll(timeout_ms=200)
            now = time.time()
            for record in (each for records in polled.values() for each in records):
                if payment := _payment(record.value):
                    seen.setdefault(payment, now)

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()
        consumer.close()


def _payment(value: bytes | None) -> str:
    """Return the id of a record's payment; empty for one that is broken."""
    try:
        parsed = json.loads(value or b"")
    except ValueError:
        return ""
    return str(parsed.get("payment", "")) if isinstance(parsed, dict) else ""
