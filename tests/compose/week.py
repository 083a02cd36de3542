"""A week of flights through the containers, faults while more of them come, and what the tables say at the end.

The expected rows are those of `tests.oracle`, which shares no code with what runs in the containers.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from threading import Event

import pandas as pd
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from sluice.devstack.airflow.api import AirflowApi, succeeded, watching
from tests.compose.airflow_login import airflow
from tests.compose.containers import RECOVERY_SECONDS, Containers, ContainersError, eventually
from tests.compose.faults import Fault, neighbour_of
from tests.compose.feeding import Feeding, send_with_heartbeat
from tests.oracle import departures, differences, flights

FIRST, WEEK_END, NEXT = date(2013, 1, 1), date(2013, 1, 7), date(2013, 1, 8)
_HOLD_SECONDS = 15.0
_START_SECONDS = 480.0
_ROWS = (
    "from deltalake import DeltaTable; print(DeltaTable('/data/tables/flights_raw').to_pyarrow_dataset().count_rows())"
)


@dataclass
class Outcome:
    """What became of a run.

    Attributes:
        lost: flights that were sent and are in no table, and rows that are missing.
        twice: flights and rows that are there more than once, or that nobody expected.
        proofs: one sentence for each fault that happened.
        seconds: of each part.
        recovered: seconds until all was well again, by fault or pair.
        differences: between a table and what is expected, in words.
    """

    lost: int = 0
    twice: int = 0
    proofs: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    recovered: dict[str, float] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    interrupted: int = 0
    flights: int = 0


class Week:
    """What is done with one installation, step by step.

    Args:
        containers: built, and not started.
        folder: where tables are copied to.
    """

    def __init__(self, containers: Containers, folder: Path) -> None:
        self._containers = containers
        self._folder = folder
        self.outcome = Outcome()

    @property
    def airflow(self) -> AirflowApi:
        """Airflow's API, with a login of its own each time: after a fault no connection is kept."""
        return airflow(self._containers)

    def start(self) -> None:
        """Start everything, and wait until each service says that it is well."""
        began = time.monotonic()
        waiting = ("--detach", "--wait", "--wait-timeout", f"{_START_SECONDS:.0f}")
        self._containers.compose("up", "--no-build", *waiting, deadline=_START_SECONDS + 60)
        self._took("up", began)

    def send_week(self) -> None:
        """Create the topics and start the stream by their DAGs, send the week, and wait for its table."""
        began = time.monotonic()
        api = self.airflow
        api.wait("topics", api.trigger("topics"), succeeded, 240)
        stream = "stream_flights"
        api.wait(stream, api.trigger(stream, {"action": "start", "reason": "a trial"}), watching, 240)
        send_with_heartbeat(self._containers, FIRST, WEEK_END)
        self._settled(WEEK_END)
        self._took("week", began)

    def strike(self, rounds: Sequence[Sequence[Fault]]) -> date:
        """Let faults happen, one round after the other, while flights come; return the last day that was begun."""
        began = time.monotonic()
        feeding = Feeding(self._containers, NEXT)
        with feeding.going_on():
            eventually("a further day is read", lambda: self._rows() > len(flights(str(FIRST), str(WEEK_END))) + 10)
            for faults in rounds:
                self._round(faults)
        self.outcome.interrupted = feeding.interrupted
        self._took("faults", began)
        return feeding.last_day

    def finish(self, last: date) -> None:
        """Close the range, correct it by a batch, and compare all tables with what is expected."""
        began = time.monotonic()
        eventually("the range is closed", lambda: send_with_heartbeat(self._containers, FIRST, last) or True)
        self._settled(last)
        api = self.airflow
        local_end = f"{last + timedelta(days=1)}T05:00Z"  # in New York, where the days of flights end
        bounds = {"from": FIRST.isoformat(), "to": local_end, "mode": "correct", "reason": "a trial"}
        api.wait("backfill_departures", api.trigger("backfill_departures", bounds), succeeded, 480)
        found = self._table("departures")
        expected = departures(str(FIRST), str(last), with_late=True)
        self.outcome.differences = differences(found, expected)
        sent = Counter(flights(str(FIRST), str(last)).index)
        raw = _received(self._table("flights_raw"))
        rows = Counter(found[["origin", "carrier", "hour"]].itertuples(index=False, name=None))
        wanted = Counter(expected[["origin", "carrier", "hour"]].itertuples(index=False, name=None))
        self.outcome.flights = sent.total()
        self.outcome.lost = (sent - raw).total() + (wanted - rows).total()
        self.outcome.twice = (raw - sent).total() + (rows - wanted).total()
        self._took("end", began)

    def _round(self, faults: Sequence[Fault]) -> None:
        name = " and ".join(f"{type(fault).__name__.lower()} {fault.service}" for fault in faults)
        began, neighbour = time.monotonic(), neighbour_of(faults)
        self.outcome.proofs += [fault.fire(self._containers, neighbour) for fault in faults]
        Event().wait(_HOLD_SECONDS)
        for fault in faults:
            fault.end(self._containers)
        ended = time.monotonic()
        eventually(f"all is well after {name}", lambda: not self._complaints())
        before = eventually(f"the raw table can be read after {name}", self._rows)
        eventually(f"records are read after {name}", lambda: self._rows() > before)
        self.outcome.recovered[name] = round(time.monotonic() - ended, 1)
        sys.stderr.write(f"{name}: fired {ended - began:.0f} s, recovered {self.outcome.recovered[name]} s\n")

    def _complaints(self) -> list[str]:
        if wrong := self._containers.unhealthy():
            raise ContainersError("; ".join(wrong))
        return wrong

    def _settled(self, last: date) -> None:
        """Wait until the table of the stream is what is expected of it: without what came too late."""
        expected = departures(str(FIRST), str(last))
        eventually(
            f"the table is that of the flights until {last}",
            lambda: differences(self._table("departures"), expected) == [],
            RECOVERY_SECONDS,
        )

    def _rows(self) -> int:
        return int(self._containers.python("runner", _ROWS))

    def _table(self, name: str) -> pd.DataFrame:
        """Copy a table that nothing writes now."""
        place = self._folder / name
        shutil.rmtree(place, ignore_errors=True)
        self._folder.mkdir(exist_ok=True)
        self._containers.compose("cp", f"runner:/data/tables/{name}", str(place))
        try:
            return DeltaTable(place).to_pandas()
        except (DeltaError, OSError) as error:  # something was written while it was copied
            raise ContainersError(f"{name} cannot be read: {error}") from error

    def _took(self, what: str, began: float) -> None:
        self.outcome.seconds[what] = round(time.monotonic() - began, 1)


def _received(raw: pd.DataFrame) -> Counter[int]:
    """Return how often each flight is in a raw table, by its row number in the package's file, without heartbeats."""
    values = (json.loads(value) for value in raw["value"])
    return Counter(value["flight_id"] for value in values if not value.get("heartbeat"))
