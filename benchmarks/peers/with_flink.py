"""The peer in Flink: one SQL statement over a bounded topic, in PyFlink's own environment. Nothing of Sluice is here.

Usage: python with_flink.py <bootstrap> <topic> <results> <folder> <campaigns.csv> <jar> ...

Streaming mode, exactly-once checkpoints each ten seconds on disk, and two slots. The static table is a function that
looks into a map: a join of tables in Flink's SQL would take the time attribute from the events.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyflink.common import Configuration  # type: ignore[import-not-found]
from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]

_SOURCE = """
CREATE TEMPORARY TABLE events (
  user_id STRING, page_id STRING, ad_id STRING, ad_type STRING, event_type STRING, event_time TIMESTAMP_LTZ(3),
  WATERMARK FOR event_time AS event_time - INTERVAL '1' MINUTE
) WITH (
  'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{bootstrap}',
  'properties.group.id' = 'peers-flink', 'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = 'latest-offset', 'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601'
)
"""
_SINK = """
CREATE TEMPORARY TABLE results (campaign STRING, began_at TIMESTAMP(3), `views` BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '{results}', 'properties.bootstrap.servers' = '{bootstrap}',
  'sink.delivery-guarantee' = 'at-least-once', 'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601'
)
"""
_QUERY = """
INSERT INTO results
SELECT campaign, window_start, COUNT(*)
FROM TUMBLE(TABLE viewed, DESCRIPTOR(event_time), INTERVAL '10' SECOND)
GROUP BY campaign, window_start, window_end
"""
_VIEWS = """
CREATE TEMPORARY VIEW viewed AS
SELECT campaign, event_time
FROM (SELECT campaign_of(ad_id) AS campaign, event_time FROM events WHERE event_type = 'view')
WHERE campaign IS NOT NULL
"""


def main(bootstrap: str, topic: str, results: str, folder: str, *paths: str) -> None:
    """Read all there is, and end."""
    campaigns, *jars = paths
    settings = {
        "parallelism.default": "2",
        "pipeline.jars": ";".join(Path(jar).resolve().as_uri() for jar in jars),
        "pipeline.object-reuse": "true",
        "pipeline.global-job-parameters": f"campaigns:{campaigns}",
        "execution.checkpointing.interval": "10 s",
        "execution.checkpointing.dir": Path(folder, "checkpoints").resolve().as_uri(),
        "table.local-time-zone": "UTC",
    }
    configuration = Configuration()
    for name, value in settings.items():
        configuration.set_string(name, value)
    environment = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
    tables = TableEnvironment.create(environment)
    tables.execute_sql("CREATE TEMPORARY SYSTEM FUNCTION campaign_of AS 'peers.CampaignOf' LANGUAGE JAVA")
    for statement in (_SOURCE, _SINK, _VIEWS):
        tables.execute_sql(statement.format(bootstrap=bootstrap, topic=topic, results=results))
    tables.execute_sql(_QUERY).wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
