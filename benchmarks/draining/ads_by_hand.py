"""The hand-written peer of the ad events, with the settings that an expert gives it. It keeps no raw records.

Usage: python -m benchmarks.draining.ads_by_hand <bootstrap> <folder> <campaigns.csv> [default]

`default`: with Spark's own settings.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from benchmarks.by_hand import default_session, records, tuned_session, write_by_hour
from benchmarks.draining.ads import TOPIC

_FIELDS = "user_id string, page_id string, ad_id string, ad_type string, event_type string, event_time timestamp"


def main(bootstrap: str, folder: Path, campaigns: str, *, default: bool = False) -> None:
    """Read all there is, and end."""
    spark = default_session(folder) if default else tuned_session(folder)
    events = (
        records(spark, bootstrap, TOPIC)
        .select(F.from_json(F.col("value").cast("string"), _FIELDS).alias("v"))
        .select("v.*")
        .where("event_type = 'view'")
        .withWatermark("event_time", "2 minutes")
    )
    counted = (
        events.join(F.broadcast(spark.read.csv(campaigns, header=True)), "ad_id")
        .groupBy(F.window("event_time", "10 seconds"), "campaign")
        .agg(F.count("*").alias("views"))
        .select("campaign", F.col("window.start").alias("began_at"), "views")
        .withColumn("hour", F.date_trunc("hour", "began_at"))
    )
    write_by_hour(counted, folder, "ads").awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], default="default" in sys.argv[4:])
    os._exit(0)
