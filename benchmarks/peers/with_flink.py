"""The peers in Flink: one SQL statement each, in PyFlink's own environment. Nothing of Sluice is here.

Usage: python with_flink.py views <bootstrap> <topic> <results> <folder> <campaigns.csv> <jar> ...
       python with_flink.py delays <bootstrap> <topic> <results> <folder> <jar> ...

`views` counts ad events over a bounded topic and ends, with exactly-once checkpoints. Its static table is a function
that looks into a map: a join of tables in Flink's SQL would take the time attribute from the events.

`delays` makes one record of each, without end and as soon as it can: no checkpoint aligns records, and no buffer or
batch waits for more of them.

Both run in streaming mode, with checkpoints each ten seconds on disk, and two slots.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyflink.common import Configuration  # type: ignore[import-not-found]
from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]

_AD_EVENTS = """
CREATE TEMPORARY TABLE events (
  user_id STRING, page_id STRING, ad_id STRING, ad_type STRING, event_type STRING, event_time TIMESTAMP_LTZ(3),
  WATERMARK FOR event_time AS event_time - INTERVAL '1' MINUTE
) WITH (
  'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{bootstrap}',
  'properties.group.id' = 'peers-flink', 'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = 'latest-offset', 'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601'
)
"""
_COUNTS = """
CREATE TEMPORARY TABLE results (campaign STRING, began_at TIMESTAMP(3), `views` BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '{results}', 'properties.bootstrap.servers' = '{bootstrap}',
  'sink.delivery-guarantee' = 'at-least-once', 'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601'
)
"""
_VIEWED = """
CREATE TEMPORARY VIEW viewed AS
SELECT campaign, event_time
FROM (SELECT campaign_of(ad_id) AS campaign, event_time FROM events WHERE event_type = 'view')
WHERE campaign IS NOT NULL
"""
_COUNT_VIEWS = """
INSERT INTO results
SELECT campaign, window_start, COUNT(*)
FROM TUMBLE(TABLE viewed, DESCRIPTOR(event_time), INTERVAL '10' SECOND)
GROUP BY campaign, window_start, window_end
"""
_FLIGHTS = """
CREATE TEMPORARY TABLE flights (
  flight_id BIGINT, carrier STRING, flight BIGINT, origin STRING, dest STRING, tailnum STRING,
  scheduled_at TIMESTAMP_LTZ(3), observed_at TIMESTAMP_LTZ(3), departed_at TIMESTAMP_LTZ(3),
  dep_delay_min BIGINT, cancelled BOOLEAN, distance_miles BIGINT
) WITH (
  'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{bootstrap}',
  'properties.group.id' = 'peers-flink', 'scan.startup.mode' = 'earliest-offset',
  'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601', 'json.ignore-parse-errors' = 'false'
)
"""
_DELAYS = """
CREATE TEMPORARY TABLE delays (
  flight_id BIGINT, carrier STRING, origin STRING, scheduled_at TIMESTAMP_LTZ(3), delay BIGINT
) WITH (
  'connector' = 'kafka', 'topic' = '{results}', 'properties.bootstrap.servers' = '{bootstrap}',
  'properties.linger.ms' = '0', 'sink.delivery-guarantee' = 'at-least-once',
  'key.format' = 'json', 'key.fields' = 'flight_id', 'value.format' = 'json',
  'value.json.timestamp-format.standard' = 'ISO-8601'
)
"""
_DELIVER_DELAYS = """
INSERT INTO delays
SELECT flight_id, carrier, origin, scheduled_at, dep_delay_min FROM flights WHERE departed_at IS NOT NULL
"""
_QUICK = {"execution.checkpointing.mode": "AT_LEAST_ONCE", "execution.buffer-timeout.interval": "5 ms"}


def views(bootstrap: str, topic: str, results: str, folder: str, campaigns: str, *jars: str) -> None:
    """Count all there is, and end."""
    tables = _tables(folder, jars, {"pipeline.global-job-parameters": f"campaigns:{campaigns}"})
    tables.execute_sql("CREATE TEMPORARY SYSTEM FUNCTION campaign_of AS 'peers.CampaignOf' LANGUAGE JAVA")
    for statement in (_AD_EVENTS, _COUNTS, _VIEWED):
        tables.execute_sql(statement.format(bootstrap=bootstrap, topic=topic, results=results))
    tables.execute_sql(_COUNT_VIEWS).wait()


def delays(bootstrap: str, topic: str, results: str, folder: str, *jars: str) -> None:
    """Deliver the delay of each flight that has departed, until killed."""
    tables = _tables(folder, jars, _QUICK)
    for statement in (_FLIGHTS, _DELAYS):
        tables.execute_sql(statement.format(bootstrap=bootstrap, topic=topic, results=results))
    tables.execute_sql(_DELIVER_DELAYS).wait()


def _tables(folder: str, jars: Sequence[str], further: Mapping[str, str]) -> TableEnvironment:
    settings = {
        "parallelism.default": "2",
        "pipeline.jars": ";".join(Path(jar).resolve().as_uri() for jar in jars),
        "pipeline.object-reuse": "true",
        "execution.checkpointing.interval": "10 s",
        "execution.checkpointing.dir": Path(folder, "checkpoints").resolve().as_uri(),
        "table.local-time-zone": "UTC",
    }
    configuration = Configuration()
    for name, value in {**settings, **further}.items():
        configuration.set_string(name, value)
    environment = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
    return TableEnvironment.create(environment)


if __name__ == "__main__":
    {"views": views, "delays": delays}[sys.argv[1]](*sys.argv[2:])
