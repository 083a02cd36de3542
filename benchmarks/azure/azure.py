"""Azure's samples of streaming at scale on this machine: 10,000 nested events a second, 0.1 % of them sent twice.

Our driver keeps the raw table, validates strictly, and delivers each event once to a topic. `worst_minute_s` is the
greatest average of a minute, `p99_s` the 99th percentile, from an event's creation until it can be read in the output,
whose timestamps are the broker's; `duplicates` and `lost` are what a reader of the output sees too often or never;
`achieved_rate` is how many events a second became readable in the slowest minute; `cores` is what the driver took.
Half a minute of the same traffic comes before the minutes that count.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from kafka import KafkaProducer

from benchmarks.azure.figures import NEVER, Seen
from benchmarks.azure.project import RAW, RESULTS, TOPIC, UNIT, write_project
from benchmarks.azure.telemetry import Telemetry
from benchmarks.backfill.recompute import surroundings
from benchmarks.latency_trial import last_words
from benchmarks.raw_progress import stored
from benchmarks.topics import private_topics
from benchmarks.trials import TrialError, cpu_seconds
from sluice.clock import SystemClock
from sluice.kafka.deduplication import deduplicated
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.launch.processes import wait_until
from sluice.settings import StateFolder
from tests.integration.serving import background
from tests.integration.spark.driver.deliveries import each_record, record_count

_START_SECONDS, _DRAIN_SECONDS, _AHEAD_SECONDS = 240.0, 120.0, 3
_RESULT = "generator.json"


@dataclass(frozen=True)
class Size:
    """How much is sent.

    Attributes:
        rate: events per second.
        warm: seconds that do not count.
        minutes: that do.
    """

    rate: int
    warm: int
    minutes: int

    @property
    def events(self) -> int:
        """How many are sent, repetitions not counted."""
        return self.rate * (self.warm + 60 * self.minutes)


_SIZES = {"full": Size(10_000, 30, 3), "small": Size(2_000, 10, 1)}


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures, and what everything took.

    Args:
        size: `full`, or `small` to try the machinery.
    """
    with tempfile.TemporaryDirectory(prefix="sluice-azure-") as folder:
        figures, notes = _measured(Path(folder), _SIZES[size])
    return figures, {"size": size, **notes}


def _measured(folder: Path, size: Size) -> tuple[dict[str, Any], dict[str, Any]]:
    state, home = StateFolder(folder / "state"), folder / "project"
    write_project(home)
    with ExitStack() as stack:
        bootstrap = stack.enter_context(private_topics(folder, home / "include")).bootstrap
        write_endpoints(state, Endpoints((bootstrap,), airflow_url=""))
        main = [sys.executable, str(home / "spark_jobs" / "stream.py"), "--unit", UNIT, "--generation", "1"]
        driver = stack.enter_context(background("driver", main, state.root, surroundings(state.root, home)))
        send_one(bootstrap, state)
        begin = (math.ceil(time.time()) + _AHEAD_SECONDS) * 1_000
        generator = stack.enter_context(_generator(bootstrap, begin, size, folder))
        since = begin + 1_000 * size.warm
        sleep_until(since)
        before = cpu_seconds(driver.pid), cpu_seconds()
        sleep_until(since + 60_000 * size.minutes)
        spent = cpu_seconds(driver.pid) - before[0], cpu_seconds() - before[1]
        load = round(os.getloadavg()[0], 1)
        sent = _result(generator, folder)
        _drain(lambda: record_count(bootstrap, RESULTS) > size.events)
        _drain(lambda: stored(state.table(RAW)) > sent["sent"])
        raw_lacks = sent["sent"] + 1 - stored(state.table(RAW))
        seen = _seen(bootstrap, Telemetry(begin, size.rate), size.events)
    shares = _shares(spent, size, sent["cpu"])
    figures = seen.figures(since, size.minutes)
    minutes = [round(float(waits.mean()), 3) for waits in seen.waits(since, size.minutes)]
    rates = [round(rate) for rate in seen.rates(since, size.minutes)]
    notes = {"rate": size.rate, "minutes_s": minutes, "rates": rates, "raw_lacks": raw_lacks, "sent": sent, **shares}
    figures = {**figures, "lost": figures["lost"] + raw_lacks, "cores": shares["driver_cores"]}
    return figures, {**notes, "load_while_measured": load}


def send_one(bootstrap: str, state: StateFolder) -> None:
    """Send an event of another run, and wait until it has come out."""
    event = Telemetry(int(time.time() * 1_000), 1, run=0).event(0)
    producer: Any = KafkaProducer(bootstrap_servers=bootstrap)
    producer.send(TOPIC, key=event.key, value=event.value).get(30)
    producer.close()
    if not wait_until(lambda: record_count(bootstrap, RESULTS) == 1, SystemClock(), deadline_seconds=_START_SECONDS):
        raise TrialError(f"The first event did not come out; the driver's last words: {last_words(state.root)}")


def _generator(bootstrap: str, begin: int, size: Size, folder: Path) -> AbstractContextManager[subprocess.Popen[bytes]]:
    arguments = [bootstrap, *map(str, (begin, size.rate, size.events)), str(folder / _RESULT)]
    command = [sys.executable, "-m", "benchmarks.azure.generator", *arguments]
    return background("generator", command, folder / "generator", surroundings(folder))


def _result(generator: subprocess.Popen[bytes], folder: Path) -> dict[str, Any]:
    """Return what the generator says, once it has ended."""
    if code := generator.wait(_DRAIN_SECONDS):
        raise TrialError(f"The generator ended with exit code {code}: {last_words(folder / 'generator')}")
    found: dict[str, Any] = json.loads((folder / _RESULT).read_text(encoding="utf-8"))
    return found


def _drain(complete: Callable[[], bool]) -> None:
    """Wait until everything has come; what has not by then is lost."""
    wait_until(complete, SystemClock(), deadline_seconds=_DRAIN_SECONDS)


def sleep_until(milliseconds: float) -> None:
    """Return at a time in milliseconds since 1970."""
    time.sleep(max(0.0, milliseconds / 1_000 - time.time()))


def _seen(bootstrap: str, telemetry: Telemetry, count: int) -> Seen:
    """Read the output as a consumer does, and return what it saw of each event."""
    readable, times = np.full(count, NEVER, np.int64), np.zeros(count, np.int64)
    for record in deduplicated(each_record(bootstrap, RESULTS, check_crcs=False)):
        number = telemetry.number_of(json.loads(record.key)["event_id"])
        if number is not None:
            times[number] += 1
            readable[number] = record.timestamp if times[number] == 1 else readable[number]
    return Seen(np.array([telemetry.created(number) for number in range(count)]), readable, times)


def _shares(spent: tuple[float, float], size: Size, generator: float) -> dict[str, float]:
    """Return what each process takes of a core; `broker_cores` is the broker and this process, which sleeps.

    Args:
        spent: CPU-seconds of the driver, and of everything that was started, in the minutes that count.
        size: what was sent.
        generator: CPU-seconds of the whole generator.
    """
    seconds, (driver, everything) = 60 * size.minutes, spent
    of_generator = generator / (seconds + size.warm)
    shares = {"driver_cores": driver / seconds, "generator_cores": of_generator}
    shares["broker_cores"] = (everything - driver) / seconds - of_generator
    return {name: round(share, 3) for name, share in shares.items()}
