"""The backfill of `departures` in DuckDB: how fast one machine can be without Spark.

Usage: python -m benchmarks.backfill.backfill_duckdb <raw table> <airlines.csv> <output table>

Reads the Parquet files that the Delta log names, and writes a Delta table partitioned by hour through delta-rs. The
parsed values are materialised: otherwise DuckDB parses a record again for every field, at seven times the cost.
"""

from __future__ import annotations

import sys

import duckdb
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

QUERY = """
with parsed as materialized (
    select from_json(text, '{"flight_id": "BIGINT", "carrier": "VARCHAR", "flight": "BIGINT",
        "origin": "VARCHAR", "dest": "VARCHAR", "scheduled_at": "TIMESTAMP", "observed_at": "TIMESTAMP",
        "departed_at": "TIMESTAMP", "dep_delay_min": "BIGINT", "cancelled": "BOOLEAN", "distance_miles": "BIGINT",
        "heartbeat": "BOOLEAN"}') as value
    from (
        select case when json_valid(decode(value)) then decode(value) end as text
        from read_parquet($files)
        where event_time >= '2013-01-01 00:00+00' and event_time < '2014-01-02 00:00+00'
    )
), decoded as (
    select unnest(value) from parsed
), flights as (
    select *, case when departed_at is not null then dep_delay_min end as delay
    from decoded
    where flight_id >= 0 and carrier is not null and flight is not null and dest is not null
        and scheduled_at is not null and cancelled is not null and not coalesce(heartbeat, false)
        and origin in ('EWR', 'JFK', 'LGA')
        and (distance_miles is null or distance_miles >= 0)
        and (dep_delay_min is null or dep_delay_min between -720 and 2880)
        and observed_at - scheduled_at <= interval 3 hours and scheduled_at - observed_at <= interval 1 hour
)
select origin, carrier, any_value(a.name) as airline, date_trunc('hour', scheduled_at) at time zone 'UTC' as hour,
    count(departed_at) as departed, count(*) filter (where cancelled) as cancelled,
    count(*) filter (where delay >= 15) as delayed_15, coalesce(sum(delay), 0)::bigint as delay_sum_min,
    max(delay) as delay_max_min
from flights left join read_csv($airlines, header = true) a using (carrier)
group by all
"""


def main(raw_table: str, airlines: str, output_table: str) -> None:
    """Write the range's results."""
    connection = duckdb.connect(config={"threads": 2, "memory_limit": "4GB"})
    connection.execute("set timezone = 'UTC'")
    files = DeltaTable(raw_table).file_uris()
    rows: pa.Table = connection.execute(QUERY, {"files": files, "airlines": airlines}).to_arrow_table()
    write_deltalake(output_table, rows, partition_by=["hour"], mode="overwrite")


if __name__ == "__main__":
    main(*sys.argv[1:])
