"""Live outputs whose state does not fit new code: computed again from open intervals, as if it had always run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.streams.failures.exits import ExitCode
from tests.integration.spark.conftest import DriverPlace, Feed, place_at
from tests.integration.spark.driver.test_preflight import add_an_aggregate

pytestmark = pytest.mark.timeout(600)


def rows(place: DriverPlace, table: str) -> pd.DataFrame:
    return place.table(table).sort_values(["hour", "origin", "carrier"]).reset_index(drop=True)


@pytest.mark.verify
def test_a_live_stream_whose_state_does_not_fit_knows_all_of_its_open_intervals_again(
    own_broker: BrokerProcess, tmp_path: Path
) -> None:
    feed, own = Feed(own_broker.bootstrap), place_at(tmp_path / "state", own_broker).with_own_project()
    feed.send(0.6)
    assert own.run(generation=1).returncode == ExitCode.STOPPED
    open_rows = rows(own, "departures_live")
    settled = own.project().tables.ledger("departures").closed_until
    assert not open_rows.empty
    add_an_aggregate(own)

    again = own.run(generation=2)
    assert again.returncode == ExitCode.STOPPED, again.stdout[-2000:]
    epoch = own.project().streams.epochs("departures_live").newest()
    assert epoch is not None
    assert (epoch.number, epoch.to, epoch.by) == (1, "open intervals", "the driver")
    assert 0 < sum(epoch.offsets.values()) < feed.sent, "what is settled is not read again"
    assert own.project().streams.epochs("departures").number == 0

    feed.send(0.2)
    assert own.run(generation=3).returncode == ExitCode.STOPPED
    always = DriverPlace(place_at(tmp_path / "other", own_broker).state, own.home)
    assert always.run(generation=1).returncode == ExitCode.STOPPED
    pd.testing.assert_frame_equal(rows(own, "departures_live"), rows(always, "departures_live"))
    new = own.table("departures")["hour"] >= settled
    assert own.table("departures").loc[new, "oops"].notna().any()
