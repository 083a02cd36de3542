"""The backfill of `departures` in pandas, as one writes it in a notebook.

Usage: python -m benchmarks.backfill.backfill_pandas <raw table> <airlines.csv> <output table>

File by file, with the columns that matter kept. It may use 12 GB, so that it cannot take the machine with it.
"""

from __future__ import annotations

import json
import resource
import sys

import pandas as pd
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

LIMIT = 12 * 2**30
REQUIRED = ["flight_id", "carrier", "flight", "origin", "dest", "scheduled_at", "observed_at", "cancelled"]
KEPT = ["carrier", "origin", "hour", "departed", "cancelled", "delay"]


def valid_flights(file: str) -> pd.DataFrame:
    """Decode the records of one file and keep what is complete, plausible and on time."""
    values = pq.read_table(file, columns=["value", "decodes"]).to_pandas()
    table = pd.DataFrame([json.loads(value) for value in values.loc[values["decodes"], "value"]])
    for time in ("scheduled_at", "observed_at", "departed_at"):
        table[time] = pd.to_datetime(table[time], format="%Y-%m-%dT%H:%M:%SZ", utc=True)
    table["flight"] = pd.to_numeric(table["flight"], errors="coerce")
    table = table.dropna(subset=REQUIRED)
    wait = table["observed_at"] - table["scheduled_at"]
    delay = table["dep_delay_min"]
    table = table[
        table["origin"].isin(["EWR", "JFK", "LGA"])
        & (delay.isna() | delay.between(-720, 2880))
        & (wait <= pd.Timedelta(hours=3))
        & (wait >= -pd.Timedelta(hours=1))
        & table["scheduled_at"].between("2013-01-01T00:00Z", "2014-01-02T00:00Z", inclusive="left")
    ]
    departed = table["departed_at"].notna()
    hour = table["scheduled_at"].dt.floor("h")
    return table.assign(hour=hour, departed=departed, delay=table["dep_delay_min"].where(departed))[KEPT]


def main(raw_table: str, airlines: str, output_table: str) -> None:
    """Write the range's results."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    flights = pd.concat([valid_flights(file) for file in DeltaTable(raw_table).file_uris()], ignore_index=True)
    rows = (
        flights.assign(cancelled=flights["cancelled"].astype(bool), delayed_15=flights["delay"] >= 15)  # noqa: PLR2004
        .groupby(["origin", "carrier", "hour"], as_index=False)
        .agg(
            departed=("departed", "sum"),
            cancelled=("cancelled", "sum"),
            delayed_15=("delayed_15", "sum"),
            delay_sum_min=("delay", "sum"),
            delay_max_min=("delay", "max"),
        )
        .merge(pd.read_csv(airlines).rename(columns={"name": "airline"}), on="carrier", how="left")
    )
    rows["delay_max_min"] = rows["delay_max_min"].astype("Int64")
    write_deltalake(output_table, rows.astype({"delay_sum_min": "int64"}), partition_by=["hour"], mode="overwrite")


if __name__ == "__main__":
    main(*sys.argv[1:])
