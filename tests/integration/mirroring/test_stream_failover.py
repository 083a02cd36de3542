"""A stream whose cluster is lost goes on in the other one, with real drivers: its tables are those of the oracle."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from sluice.delta.reading import read_rows
from sluice.streams.failures.exits import ExitCode
from sluice.streams.life.attempts import Desired
from tests.integration.mirroring.mirrored import TwoClusters, two_clusters
from tests.integration.spark.conftest import DriverPlace, Feed
from tests.matrix.census import Census
from tests.matrix.recording import FaultRecorder
from tests.oracle import departures, differences

pytestmark = [pytest.mark.verify, pytest.mark.timeout(900)]
DAYS = ("2013-01-01", "2013-01-02")


def moved(clusters: TwoClusters) -> dict[str, tuple[int, int]]:
    """Stop what is left, make the fail-over, and return what each partition has lost of what the source held."""
    registry = clusters.project().records.registry()
    registry.set_desired_state("flights", Desired.STOPPED, by="test", why="lost")
    report = clusters.failover().move(by="test", why="lost")
    assert report.source
    assert report.doubles == 0
    return {
        p: (one.reached, one.at) for s in report.streams if s.stream == "raw_flights" for p, one in s.partitions.items()
    }


@pytest.mark.parametrize(
    "failpoint", ["", "after_write_before_commit@flights_raw"], ids=["stopped", "killed behind a commit"]
)
@pytest.mark.proves("source-lost")
def test_no_record_is_counted_twice_and_none_that_was_copied_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failpoint: str, faults: FaultRecorder
) -> None:
    with two_clusters(tmp_path, topic=False) as clusters:
        feed, place = Feed(clusters.source.bootstrap), DriverPlace(clusters.state, clusters.home)
        feed.send(0.4)
        clusters.start()
        first = place.run(generation=1, failpoint=failpoint)
        assert first.returncode == (-9 if failpoint else ExitCode.STOPPED), first.stdout[-3000:]
        feed.send(0.2)
        clusters.copied()
        clusters.stop()
        before = feed.sent
        left = list(feed._left)
        feed.send(0.1)
        ends = clusters.project().kafka.administration().ends("flights")
        clusters.kill_source()
        faults.struck(f"the source's broker ended with {clusters.process.returncode}")

        reached = moved(clusters)
        lost = sum(ends[int(p.rpartition("/")[2])] - until for p, (until, _) in reached.items())
        assert lost == feed.sent - before, "exactly what was sent after the mirror had stopped"
        feed._bootstrap, feed._left = clusters.target.bootstrap, left
        del feed.sent_values[before:]  # what came after the mirror went with the source, and is sent again
        feed.send_rest()
        monkeypatch.setenv("SLUICE_DEPLOYMENT", "reserve")
        second = place.run(generation=2)
        assert second.returncode == ExitCode.STOPPED, second.stdout[-3000:] + second.stderr[-3000:]

        faults.recovered()
        raw = read_rows(clusters.state / "tables" / "flights_raw").to_pandas()
        faults.counted(Census.of(feed.sent_values, raw["value"]))
        assert [value for value, times in Counter(raw["value"]).items() if times > 1] == []
        assert (len(raw), raw["topic_id"].nunique()) == (feed.sent, 2)
        assert differences(place.table("departures"), departures(*DAYS)) == []
        ledger = clusters.project("reserve").tables.ledger("departures")
        assert [start for start, row in ledger.rows.items() if row.dirty] == []
        verified = place.sluice(
            "backfill", "run", "departures", "--from", DAYS[0], "--to", "2013-01-03", "--mode", "verify"
        )
        assert (verified["state"], verified["outcome"]) == ("done", "identical")
