"""Ad events: two million JSON records with ISO times; views per campaign in windows of ten seconds.

The workload of the streaming benchmark that Yahoo published in 2015, from its description: a filter, a join with a
static table from ads to campaigns, a count per window. It shares no code with the product.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from kafka import KafkaProducer

from benchmarks.project_copy import own_project

TOPIC, PARTITIONS = "ad_events", 4
START = pd.Timestamp("2026-01-01", tz="UTC")
MICROSECONDS_BETWEEN = 5_000
ADS, CAMPAIGNS = 1_000, 100
AHEAD = pd.Timedelta(hours=6)
"""How long after the last event one more comes in each partition: then everything before is complete."""

_TOPIC: dict[str, Any] = {
    "name": TOPIC,
    "partitions": PARTITIONS,
    "retention": "forever",
    "value": {
        "format": "json",
        "event_time": "event_time",
        "arrival_time": "event_time",
        "fields": {
            "user_id": {"type": "string", "required": True},
            "page_id": {"type": "string", "required": True},
            "ad_id": {"type": "string", "required": True},
            "ad_type": {"type": "string", "required": True},
            "event_type": {"type": "string", "required": True},
            "event_time": {"type": "timestamp", "required": True},
        },
    },
    "raw": {"table": "ad_events_raw", "driver": "ads"},
}
_PIPELINE = {
    "name": "ads",
    "source": TOPIC,
    "transform": "ads:views",
    "static": {"campaigns": {"path": "campaigns.csv", "columns": {"ad_id": "string", "campaign": "string"}}},
    "time": {"allowed_lateness": "1 minute", "future_skew": "1 minute"},
    "output": {
        "table": "ads",
        "time_column": "began_at",
        "window": "10 seconds",
        "interval": "hour",
        "keys": ["campaign"],
    },
    "driver": "ads",
}
_TRANSFORM = '''\
"""Views per campaign."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def views(events: DataFrame, *, campaigns: DataFrame) -> DataFrame:
    """Count per campaign and ten seconds."""
    return (
        events.where(F.col("event_type") == "view")
        .join(campaigns, "ad_id")
        .groupBy(F.window("event_time", "10 seconds"), "campaign")
        .agg(F.count("*").alias("views"))
        .select("campaign", F.col("window.start").alias("began_at"), "views")
    )
'''
_SELECT = """\
SELECT campaign, window.start AS began_at, count(*) AS views
FROM ad_events JOIN campaigns USING (ad_id)
WHERE event_type = 'view'
GROUP BY window(event_time, '10 seconds'), campaign
"""


def write_project(home: Path, *, sql: bool = False) -> None:
    """Write a project with this one pipeline, with its transform in Python or in SQL."""
    pipeline = {**_PIPELINE, "transform": "ads.sql"} if sql else _PIPELINE
    files = {
        "include/topics/ad_events.yaml": json.dumps(_TOPIC),
        "include/pipelines/ads.yaml": json.dumps(pipeline),
        "include/campaigns.csv": _campaigns().to_csv(index=False),
        "spark_jobs/transforms/ads.py": _TRANSFORM,
        "spark_jobs/transforms/ads.sql": _SELECT,
    }
    own_project(home, files)


def publish(bootstrap: str, count: int, *, copies: int = 1, later: bool = True) -> None:
    """Publish so many events, each so many times, and, if wanted, one in each partition that is much later."""
    producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=50, batch_size=262_144)
    for number, value in enumerate(_values(count, later=later)):
        for _ in range(copies):
            producer.send(TOPIC, value=value, partition=number % PARTITIONS)
    producer.flush()
    producer.close()


def expected(count: int) -> pd.DataFrame:
    """Return campaign, began_at (UTC) and views, of all windows but that of the last events."""
    table = _events(count)
    table = table[table["event_type"] == "view"].merge(_campaigns(), on="ad_id")
    table["began_at"] = table["event_time"].dt.floor("10s")
    return table.groupby(["campaign", "began_at"], as_index=False).agg(views=("user_id", "count"))


def differences(found: pd.DataFrame, count: int) -> int:
    """Return how many rows are missing, wrong or too many."""
    keys, wanted = ["campaign", "began_at"], expected(count)
    found = found[found["began_at"] < wanted["began_at"].max().floor("h") + pd.Timedelta(hours=1)]
    both = wanted.merge(found, on=keys, how="outer", suffixes=("", "_found"))
    return int((both["views"] != both["views_found"]).sum() + found.duplicated(keys).sum())


def _campaigns() -> pd.DataFrame:
    ads = range(ADS)
    return pd.DataFrame({"ad_id": [f"ad{n}" for n in ads], "campaign": [f"c{n % CAMPAIGNS}" for n in ads]})


def _events(count: int) -> pd.DataFrame:
    draw = np.random.default_rng(7)
    names = {
        "user_id": ("user", draw.integers(0, 100_000, count)),
        "page_id": ("page", draw.integers(0, 10_000, count)),
        "ad_id": ("ad", draw.integers(0, ADS, count)),
    }
    table = pd.DataFrame(
        {name: pd.Series(numbers).map(f"{prefix}{{}}".format) for name, (prefix, numbers) in names.items()}
    )
    table["ad_type"] = np.array(["banner", "modal", "sponsored", "mail", "mobile"])[draw.integers(0, 5, count)]
    table["event_type"] = np.array(["view", "click", "purchase"])[draw.integers(0, 3, count)]
    table["event_time"] = START + pd.to_timedelta(np.arange(count) * MICROSECONDS_BETWEEN, unit="us")
    return table


def value_of(event: Mapping[str, Any]) -> bytes:
    """Return an event as its record's value; text that is not given is empty."""
    moment: datetime = event["event_time"].astimezone(UTC)
    text = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({**dict.fromkeys(_TOPIC["value"]["fields"], ""), **event, "event_time": text}).encode()


def _values(count: int, *, later: bool) -> Iterator[bytes]:
    table = _events(count)
    # Views, so that a watermark behind the filter sees them, too.
    last = table.tail(PARTITIONS).assign(event_time=table["event_time"].max() + AHEAD, event_type="view")
    for row in pd.concat([table, last] if later else [table]).itertuples(index=False):
        yield value_of({**row._asdict(), "event_time": row.event_time.to_pydatetime()})
