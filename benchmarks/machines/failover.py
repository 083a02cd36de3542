"""The Kafka of a stream is killed, and the stream goes on in the copy that MirrorMaker has made of it.

A driver reads the first half of two days of flights under a keeper, as `sluice streams start` starts it, and a mirror
copies them into a second broker. More is sent, and copied; then the mirror stops, some records are sent that nobody
copies, and the first broker is killed with SIGKILL. From that moment on it is measured: the unit is stopped, its
positions are translated and put on record, its driver is started in the other deployment, and a producer sends to the
second broker.

`failover_s`: from the kill to the commit of the first record that was sent after it. `stop_s`, `translate_s` and
`start_s` are the parts. `lost`: records that were copied or read and are not in the raw table; `doubled`: records that
are there twice; `unmirrored`: those that nobody copied or read, of which the report has to name each.
`wrong_rows`: rows of the interval table that differ from the oracle's, after all was sent that was left. `mirror_rate`:
records per second that MirrorMaker copied from a standing start of its process.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from benchmarks.trials import TrialError
from sluice.clock import SystemClock
from sluice.delta.reading import read_rows
from sluice.launch.processes import wait_until
from tests.integration.mirroring.mirrored import TwoClusters, two_clusters
from tests.integration.spark.conftest import Feed
from tests.oracle import departures, differences

_PATIENCE_SECONDS = 300.0
_STOP_SECONDS = 5.0
_SHARES = {"full": (0.5, 0.2, 0.1), "small": (0.1, 0.1, 0.05)}
"""Of two days: what is read before, what is copied beside, and what nobody copies."""


def run(size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return how long a fail-over takes, and what it has lost and doubled."""
    with TemporaryDirectory() as folder, two_clusters(Path(folder), topic=False) as clusters:
        feed = Feed(clusters.source.bootstrap)
        before = _lose_the_source(clusters, feed, *_SHARES[size])
        report = clusters.failover().move(by="benchmark", why="the source was killed")
        translated = time.monotonic()
        raw = next(stream for stream in report.streams if stream.stream.startswith("raw_"))
        named = sum(before.ends[int(p.rpartition("/")[2])] - one.reached for p, one in raw.partitions.items())
        committed = _go_on(clusters, feed, before)
        values, wrong = Counter(_raw(clusters)["value"]), _wrong_rows(clusters)
    figures = {
        "failover_s": round(committed - before.killed, 2),
        "stop_s": round(before.stopped - before.killed, 2),
        "translate_s": round(translated - before.stopped, 2),
        "start_s": round(committed - translated, 2),
        "lost": feed.sent - len(values),
        "doubled": sum(values.values()) - len(values),
        "unmirrored": named,
        "wrong_rows": len(wrong),
        "mirror_rate": round(before.rate),
    }
    return figures, {"size": size, "records": feed.sent, "steps": dict(report.seconds)}


@dataclass(frozen=True)
class _Before:
    """What was so when the source was killed.

    Attributes:
        sent: records that were copied.
        left: those that nobody has copied, and those that were never sent.
        ends: of the source's partitions.
        killed: when it was, by the monotonic clock.
        stopped: when the unit was stopped.
        rate: records per second that were copied from the start of the mirror.
    """

    sent: int
    left: list[dict[str, object]]
    ends: Mapping[int, int]
    killed: float
    stopped: float
    rate: float


def _lose_the_source(clusters: TwoClusters, feed: Feed, read: float, copied: float, unmirrored: float) -> _Before:
    feed.send(read)
    began = time.monotonic()
    clusters.start()
    clusters.copied()
    rate = feed.sent / (time.monotonic() - began)
    with _running(clusters, "local"):
        _wait(lambda: len(_raw(clusters)) == feed.sent, "the driver has not read the source")
        feed.send(copied)
        clusters.copied()
        clusters.stop()
        left, sent = list(feed._left), feed.sent  # noqa: SLF001  sent to the other broker later
        feed.send(unmirrored)
        ends = clusters.project().kafka.administration().ends("flights")
        clusters.kill_source()
        killed = time.monotonic()
    return _Before(sent, left, ends, killed, time.monotonic(), rate)


def _go_on(clusters: TwoClusters, feed: Feed, before: _Before) -> float:
    """Go on in the other deployment, and return when the first record was committed that was sent there."""
    read = set(_flights(clusters))  # also what nobody had copied when the source was killed
    left = [value for value in before.left if value["flight_id"] not in read]
    first, known = left[0]["flight_id"], before.sent + len(before.left) - len(left)
    feed._bootstrap, feed._left = clusters.target.bootstrap, left  # noqa: SLF001
    del feed.sent_values[known:]
    with _running(clusters, "reserve"):
        feed.send_rest()
        _wait(lambda: first in _flights(clusters), "the driver has not gone on")
        committed = time.monotonic()
        _wait(lambda: len(_raw(clusters)) >= feed.sent, "the driver has not read the rest")
        _wait(lambda: not _wrong_rows(clusters), "the intervals are not the oracle's", raises=False)
    return committed


def _flights(clusters: TwoClusters) -> list[object]:
    return [json.loads(value).get("flight_id") for value in _raw(clusters)["value"]]


@contextmanager
def _running(clusters: TwoClusters, deployment: str) -> Iterator[None]:
    """Run the unit's driver under its keeper; on the way out it is stopped, and that is on record."""
    life = clusters.project(deployment).streams.life("flights")
    life.start("benchmark", "to see")
    try:
        yield
    finally:
        life.stop("benchmark", "it is over", _STOP_SECONDS)


def _raw(clusters: TwoClusters) -> pd.DataFrame:
    folder = clusters.state / "tables" / "flights_raw"
    return read_rows(folder).to_pandas() if (folder / "_delta_log").is_dir() else pd.DataFrame()


def _wrong_rows(clusters: TwoClusters) -> list[str]:
    folder = clusters.state / "tables" / "departures"
    if not (folder / "_delta_log").is_dir():
        return ["no table"]
    return differences(read_rows(folder).to_pandas(), departures("2013-01-01", "2013-01-02"))


def _wait(condition: Callable[[], bool], what: str, *, raises: bool = True) -> None:
    if not wait_until(condition, SystemClock(), deadline_seconds=_PATIENCE_SECONDS) and raises:
        raise TrialError(f"{what} within {_PATIENCE_SECONDS:.0f} s")
