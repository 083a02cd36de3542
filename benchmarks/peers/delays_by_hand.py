"""The hand-written peer of `latency`: one streaming query from topic to topic, with an expert's settings, until killed.

Usage: python -m benchmarks.peers.delays_by_hand <bootstrap> <topic> <results> <folder> [async]

A batch begins as soon as the one before has ended. `async`: offsets are written beside the batches
(`asyncProgressTrackingEnabled`), as Spark's documentation has it for latency; a crash repeats more.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from benchmarks.by_hand import records, tuned_session

_FIELDS = (
    "flight_id long, carrier string, flight long, origin string, dest string, tailnum string, "
    "scheduled_at timestamp, observed_at timestamp, departed_at timestamp, "
    "dep_delay_min long, cancelled boolean, distance_miles long"
)
_STRICT = {"mode": "FAILFAST"}


def main(bootstrap: str, topic: str, results: str, folder: Path, *, asynchronous: bool) -> None:
    """Deliver the delay of each flight that has departed."""
    rows = (
        records(tuned_session(folder), bootstrap, topic)
        .select(F.from_json(F.col("value").cast("string"), _FIELDS, _STRICT).alias("v"))
        .select("v.*")
        .where("departed_at is not null")
        .select("flight_id", "carrier", "origin", "scheduled_at", F.col("dep_delay_min").alias("delay"))
    )
    query = (
        rows.select(F.to_json(F.struct("flight_id")).alias("key"), F.to_json(F.struct(*rows.columns)).alias("value"))
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", results)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .option("asyncProgressTrackingEnabled", str(asynchronous).lower())
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:4], Path(sys.argv[4]), asynchronous="async" in sys.argv[5:])
