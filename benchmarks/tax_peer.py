"""The hand-written peer of the benchmark `tax`: the same two streams, with the settings that an expert gives them.

Usage: python -m benchmarks.tax_peer <bootstrap> <folder> <airlines.csv>
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from benchmarks.by_hand import departures, on_time_flights, records, tuned_session, write_by_hour


def main(bootstrap: str, folder: Path, airlines: str) -> None:
    """Read all there is, and end."""
    spark = tuned_session(folder)
    raw = records(spark, bootstrap, "flights").select("topic", "partition", "offset", "timestamp", "key", "value")
    counted = departures(on_time_flights(spark, bootstrap, "flights"), spark.read.csv(airlines, header=True))
    queries = [
        raw.writeStream.format("delta")
        .outputMode("append")
        .option("checkpointLocation", str(folder / "checkpoints" / "raw_flights"))
        .trigger(availableNow=True)
        .start(str(folder / "tables" / "flights_raw")),
        write_by_hour(counted, folder, "departures"),
    ]
    for query in queries:
        query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
    os._exit(0)
