"""A stop that was requested: what runs ends, nothing else begins, and nobody waits for what cannot come."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sluice.spark.driver.driver import Driver
from sluice.spark.driver.stopping import StopRequest
from sluice.streams.failures.exits import ExitCode
from tests.twins.clock import ManualClock
from tests.unit.spark.driver.queries import BusyQuery, stream_of


def test_a_stop_tells_all_streams_before_it_waits_for_one() -> None:
    stop, told = StopRequest(), list[str]()

    class WaitingQuery(BusyQuery):
        """Its batch waits for another stream, and ends when it is told to give up."""

        def stop(self) -> None:
            told.append("stop")

    def waits(_rows: object, _batch_id: int) -> None:
        stop.ask()

    def gives_up(name: str) -> None:
        told.append(name)

    streams = [
        replace(stream_of(WaitingQuery(name), waits), give_up=partial(gives_up, name))
        for name in ("raw_flights", "departures")
    ]
    assert Driver(streams, {}, stop=stop).run(clock=ManualClock()) is ExitCode.STOPPED
    assert set(told[: told.index("stop")]) == {"raw_flights", "departures"}
