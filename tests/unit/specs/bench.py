"""A small sound project that tests break on purpose."""

from __future__ import annotations

from pathlib import Path

from sluice.specs.load import Scan, scan

TOPIC_FILE, PIPELINE_FILE = "include/topics/orders.yaml", "include/pipelines/sales.yaml"
FEED_FILE, DEPLOYMENT_FILE = "include/feeds/replay.yaml", "include/deployments/prod.yaml"
TRANSFORM_FILE, STREAM_FILE = "spark_jobs/transforms/sales.py", "include/access/stream.yaml"

TOPIC = """\
name: orders
partitions: 2
retention: 7 days
configs:
  cleanup.policy: delete
value:
  fields:
    id: {type: long, required: true, minimum: 0}
    shop: {type: string, one_of: [north, south]}
    ordered_at: {type: timestamp, required: true}
    seen_at: {type: timestamp, required: true}
    beat: {type: boolean}
  event_time: ordered_at
  arrival_time: seen_at
  heartbeat: beat
raw:
  table: orders_raw
  driver: shop
"""
PIPELINE = """\
name: sales
source: orders
transform: sales:sales
static:
  shops:
    path: static/shops.csv
    columns: {shop: string, city: string}
time:
  allowed_lateness: 1 hour
  future_skew: 5 min
output:
  table: sales
  time_column: hour
  window: 1 hour
  interval: hour
driver: shop
spark:
  spark.sql.shuffle.partitions: "4"
"""
FEED = """\
name: replay
topic: orders
source: nycflights13
"""
DEPLOYMENT = """\
name: prod
kafka:
  kind: external
  bootstrap: [kafka:9092]
  client:
    client.id: shop
"""
STREAM = """\
name: stream
user: sluice-stream
role: stream
hosts: [10.0.0.7]
scram: {password_variable: SLUICE_PASSWORD_STREAM}
"""
TRANSFORM = '''\
"""Sales per hour."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def sales(orders: DataFrame, *, shops: DataFrame) -> DataFrame:
    """Count orders."""
    return orders.groupBy(F.window("ordered_at", "1 hour")).count()
'''


class Bench:
    """A project in a temporary folder."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.include = home / "include"

    def write(self, file: str, text: str | bytes) -> Path:
        """Write a file of the project."""
        path = self.home / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace a text that must be there."""
        text = (self.home / file).read_text()
        assert old in text, f"{file} has no {old!r}"
        self.write(file, text.replace(old, new, 1))

    def scan(self) -> Scan:
        """Read the specs."""
        return scan(self.include)


def sound_project(home: Path) -> Bench:
    """Write a project without fault."""
    project = Bench(home)
    project.write(TOPIC_FILE, TOPIC)
    project.write(PIPELINE_FILE, PIPELINE)
    project.write(FEED_FILE, FEED)
    project.write(DEPLOYMENT_FILE, DEPLOYMENT)
    project.write("include/static/shops.csv", "shop,city\nnorth,Oslo\n")
    project.write("spark_jobs/transforms/__init__.py", "")
    project.write(TRANSFORM_FILE, TRANSFORM)
    return project
