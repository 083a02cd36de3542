"""A stream, a backfill and a check that tests tell lineage of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.backfills import Backfill, BackfillState
from sluice.intervals.backfill.request import Mode, Request
from sluice.lineage import datasets
from sluice.lineage.batches import BatchJob
from sluice.lineage.streams import StreamJob
from sluice.specs.load import load_catalog
from sluice.streams.failures.failure import FailureClass
from sluice.streams.life.attempts import Attempt, AttemptState

BEGIN = datetime(2013, 1, 7, 12, tzinfo=UTC)
CATALOG = load_catalog(Path(__file__).parents[3] / "include")
FLIGHTS = CATALOG.topics["flights"]
AIRLINES = CATALOG.pipelines["departures"].static["airlines"]
TABLE = datasets.table("/data/tables/departures", (("hour", "timestamp"), ("origin", "string")))
RAW = datasets.table("/data/tables/raw_flights", None)

STREAM = StreamJob(
    namespace="sluice.local",
    deployment="local",
    unit="flights",
    stream="departures",
    engine="4.2.0",
    topics=(datasets.topic(("broker-1:9092", "broker-2:9092"), "flights", FLIGHTS),),
    static=(datasets.file(Path("/lib/airlines.csv"), AIRLINES),),
    outputs=(TABLE,),
    owner="flight-operations",
    description="Departures by hour.",
)
BATCH = BatchJob(
    namespace="sluice.local",
    deployment="local",
    pipeline="departures",
    engine="4.2.0",
    sources=(RAW,),
    table=TABLE,
    owner="flight-operations",
)


def attempt(
    state: AttemptState = AttemptState.BOUND, failure: FailureClass | None = None, generation: int = 3, **more: str
) -> Attempt:
    over = state is AttemptState.ENDED
    return Attempt(
        unit="flights",
        generation=generation,
        key=f"local.flights.g{generation}",
        state=state,
        intended_at=BEGIN,
        bound_at=None if state is AttemptState.INTENT else BEGIN + timedelta(seconds=2),
        ended_at=BEGIN + timedelta(hours=1) if over else None,
        failure=failure,
        **more,
    )


def backfill(mode: Mode = Mode.CORRECT, claimed_at: datetime = BEGIN) -> Backfill:
    asked = Request("departures", Interval(BEGIN - timedelta(days=1), BEGIN), mode, by="ada", why="late records")
    return Backfill("departures-20130107T120000-abcd", "key", asked, BackfillState.RUNNING, claimed_at)
