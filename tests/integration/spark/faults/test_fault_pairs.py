"""Faults strike a real stream on three brokers: alone, and two at once as a seed has drawn them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import SystemRandom

import pytest

from sluice.settings import settings
from sluice.streams.failures.exits import ExitCode
from tests.integration.spark.driver.test_zombies import NAIVE
from tests.integration.spark.faults.live_stream import LiveStream, live_stream
from tests.integration.spark.faults.strikes import (
    BrokerKilled,
    CheckpointLost,
    KafkaSilent,
    RecordsLocked,
    Strike,
    schedule,
)
from tests.matrix.recording import FaultRecorder
from tests.simulation.campaign import kept_seeds

SEEDS = Path(__file__).with_name("seeds.txt")

pytestmark = [pytest.mark.verify, pytest.mark.timeout(1800)]


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[LiveStream]:
    with live_stream(tmp_path) as stream:
        stream.feed.send()
        stream.has_read_all()
        yield stream


def struck(stream: LiveStream, strikes: Sequence[Strike], faults: FaultRecorder, *rows: str) -> None:
    """Let faults strike while records are sent, end them, and wait until every record is read."""
    for strike in strikes:
        stream.feed.send()
        strike.strike()
    stream.feed.send()
    for strike in sorted(strikes, key=lambda each: not each.ends_first):
        strike.end()
    for strike in strikes:
        faults.struck(strike.evidence(), *(rows or [strike.row]))
    stream.feed.send()
    stream.has_read_all()
    for row in rows or [strike.row for strike in strikes]:
        faults.recovered(row)


def finish(stream: LiveStream, faults: FaultRecorder) -> None:
    """Send what is left, compare everything, and stop."""
    stream.feed.send_rest()
    stream.has_read_all()
    stream.has_published_all()
    faults.counted(stream.census())
    faults.alarms(stream.unwell())
    with stream.reconciler.held():
        assert stream.life.stop("a test", "it was struck enough", 90).exit_code == ExitCode.STOPPED


@pytest.mark.proves("broker-killed", "kafka-silent", "records-silent")
def test_a_driver_outlives_a_broker_the_silence_of_all_and_a_locked_record(
    stream: LiveStream, faults: FaultRecorder
) -> None:
    before = stream.running()
    for strike in (BrokerKilled(stream, 2), BrokerKilled(stream, 3), KafkaSilent(stream), RecordsLocked(stream)):
        struck(stream, [strike], faults)
        assert stream.report() == before, "the same process, under the same key"
    finish(stream, faults)
    assert stream.keys() == [before.key]


@pytest.mark.proves("pairs")
@pytest.mark.parametrize("seed", [*kept_seeds(SEEDS), None], ids=lambda seed: "fresh" if seed is None else str(seed))
def test_two_faults_at_once_lose_nothing_double_nothing_and_end(
    stream: LiveStream, faults: FaultRecorder, seed: int | None
) -> None:
    drawn = SystemRandom().randrange(10**6) if seed is None else seed
    try:
        for pair in schedule(drawn):
            struck(stream, [kind(stream) for kind in pair], faults, "pairs")
        finish(stream, faults)
    except BaseException as error:
        error.add_note(f"The seed of the schedule: {drawn}")
        if seed is None:
            keep(drawn)
        raise


def test_a_naive_control_is_convicted_by_the_same_means(tmp_path: Path) -> None:
    shipped = settings().home / "spark_jobs" / "stream.py"
    with live_stream(tmp_path, NAIVE.format(main=str(shipped))) as stream:
        stream.feed.send()
        stream.has_read_all()
        assert stream.census().is_clean
        lost = CheckpointLost(stream)
        lost.strike()
        stream.eventually(lambda: stream.census().twice > 0, "records are there twice")
        assert "commits of checkpoints are gone" in lost.evidence()


def keep(seed: int) -> None:
    """Keep a seed that failed: it is a case of the test from now on."""
    rows = "; ".join(" and ".join(strike.row for strike in pair) for pair in schedule(seed))
    with SEEDS.open("a", encoding="utf-8") as file:
        file.write(f"{seed}  # {rows}\n")
