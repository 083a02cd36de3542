"""Sends telemetry at a steady rate, and says what that took.

Usage: python -m benchmarks.azure.generator <bootstrap> <begin> <rate> <count> <result file>

An event is sent at its own time, however long the others took: if the broker or the machine holds it up, the wait is
part of its latency. `begin` is in milliseconds since 1970.

The events go as lines into Kafka's own console producer, because the generator shares two cores with what it measures:
kafka-python computes checksums in Python, which takes 80 µs for an event that is made in one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.azure.project import TOPIC
from benchmarks.azure.telemetry import Telemetry, sending_order
from sluice.devstack.kafka.java import java_command
from sluice.settings import environment, settings

REPEATED_WITHIN_SECONDS = 2
"""So most repetitions come in a later batch than their event."""
_TICKS_PER_SECOND = 100
_JAVA = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_BATCHING = ("--batch-size", str(2**18), "--timeout", "5")


def main(bootstrap: str, begin: int, rate: int, count: int, result: Path) -> int:
    """Send all, and write how many records that were, CPU-seconds, and how far behind an event was sent at most.

    Returns:
        the exit code of the producer.
    """
    telemetry, tick = Telemetry(begin, rate), max(1, rate // _TICKS_PER_SECOND)
    producer = subprocess.Popen(_producer(bootstrap), stdin=subprocess.PIPE, bufsize=2**16)
    assert producer.stdin is not None
    sent, behind, newest = 0, 0.0, -1
    for number in sending_order(count, REPEATED_WITHIN_SECONDS * rate):
        if number > newest and number % tick == 0:
            producer.stdin.flush()
            due = telemetry.created(number + tick - 1) / 1_000
            while (wait := due - time.time()) > 0:
                time.sleep(wait)
            behind = max(behind, -wait)
        producer.stdin.write(b"%b\t%b\n" % telemetry.event(number))
        sent, newest = sent + 1, max(newest, number)
    producer.stdin.close()
    code = producer.wait()
    spent = os.times()
    found = {"sent": sent, "cpu": round(sum(spent[:4]), 2), "python_cpu": round(sum(spent[:2]), 2)}
    result.write_text(json.dumps({**found, "behind_s": round(behind, 3)}), encoding="utf-8")
    return code


def _producer(bootstrap: str) -> Sequence[str]:
    """Return the command that sends each line of its input: the key, a tab, the value."""
    java = [java_command(environment().get("JAVA_HOME", "")), *_JAVA, "-cp", f"{settings().jars / 'kafka'}/*"]
    where = ["--bootstrap-server", bootstrap, "--topic", TOPIC, "--reader-property", "parse.key=true"]
    return [*java, "org.apache.kafka.tools.ConsoleProducer", *where, *_BATCHING]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:5]), Path(sys.argv[5])))
