"""The work of drivers and batches on a few rows, so that a JVM lists the classes that they load.

Run by `sluice.spark.session.class_archive` in a process of its own. No broker is needed: Kafka's clients are built
and closed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deltalake import write_deltalake
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.devstack.spark_authentication import AUTHENTICATION_FIRST
from sluice.spark.records.decoding import decode
from sluice.spark.session.class_archive import CLASS_OPTIONS, QUICKLY
from sluice.spark.session.preset import effective_settings
from sluice.spark.session.session import session_with
from sluice.spark.sinks.collected import in_files
from sluice.specs.model.model import TopicValue
from sluice.specs.model.resources import Resources

_FIELDS = {"key": {"type": "string"}, "number": {"type": "long"}, "at": {"type": "timestamp", "required": True}}
_VALUE = TopicValue.model_validate({"fields": _FIELDS, "event_time": "at", "arrival_time": "broker"})
_LINES = [f'{{"key":"{n % 3}","number":{n},"at":"2013-01-01T{n % 24:02}:00:00Z"}}' for n in range(48)]
_DESERIALIZER = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
_SERIALIZER = "org.apache.kafka.common.serialization.ByteArraySerializer"
_ENCRYPTED = {
    "security.protocol": "SASL_SSL",
    "ssl.engine.factory.class": "sluice.kafka.ReplacedFiles",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required username=a password=b;",
}


def main(jars: Path, folder: Path) -> None:
    """Do the work; leave `classes.txt`, the classes in it, and `jvm.json`, by which they are archived, in the folder.

    Args:
        jars: the folder of the jars beside Spark's.
        folder: an empty one.
    """
    options = f'-XX:DumpLoadedClassList="{folder / "classes.txt"}" -Xlog:disable {QUICKLY} {AUTHENTICATION_FIRST}'
    listing = {CLASS_OPTIONS: options}
    settings = effective_settings(Resources(), jars=jars, warehouse=folder / "warehouse", overrides=listing)
    spark = session_with("sluice-classes", settings)
    _clients(spark, {})
    _clients(spark, _ENCRYPTED)
    _stream(spark, folder)
    _batch(spark, folder)
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark gives no other way to a class of Java
    known = {name: jvm.java.lang.System.getProperty(name) for name in ("java.home", "java.class.path")}
    (folder / "jvm.json").write_text(json.dumps(known), encoding="utf-8")
    spark.stop()
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - nothing else knows the process
    gateway.proc.stdin.close()  # it ends when its input ends
    sys.exit(gateway.proc.wait())


def _clients(spark: SparkSession, connection: Mapping[str, str]) -> None:
    """Build the clients that a Kafka source and sink have."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark gives no other way to a class of Java
    options = jvm.java.util.HashMap()
    for name, value in {"bootstrap.servers": "127.0.0.1:9", **connection}.items():
        options.put(name, value)
    for side in ("key", "value"):
        options.put(f"{side}.deserializer", _DESERIALIZER)
        options.put(f"{side}.serializer", _SERIALIZER)
    clients = jvm.org.apache.kafka.clients
    clients.admin.AdminClient.create(options).close()
    clients.consumer.KafkaConsumer(options).close()
    clients.producer.KafkaProducer(options).close()


def _decoded(lines: DataFrame) -> DataFrame:
    return decode(lines.select(F.col("value").cast("binary").alias("_value")), _VALUE).select(*_FIELDS)


def _hourly(records: DataFrame) -> DataFrame:
    return records.groupBy(F.window("at", "1 hour"), "key").agg(
        F.count("*").alias("rows"), F.sum("number").alias("sum")
    )


def _stream(spark: SparkSession, folder: Path) -> None:
    """Run a stateful query whose rows are collected, and a stateless one whose rows are written to files."""
    (folder / "lines").mkdir()
    (folder / "lines" / "first.txt").write_text("\n".join(_LINES), encoding="utf-8")

    def collect(rows: DataFrame, _batch: int) -> None:
        partitioned = rows.select(F.col("window.start").alias("hour"), "key", "rows", "sum").toArrow()
        write_deltalake(str(folder / "table"), partitioned, mode="append", partition_by=["hour"])

    def stage(rows: DataFrame, _batch: int) -> None:
        write_deltalake(str(folder / "raw"), in_files(rows, folder / "staged").to_table(), mode="append")

    records = _decoded(spark.readStream.text(str(folder / "lines"))).withWatermark("at", "1 hour")
    for name, query in (
        ("windows", _hourly(records).writeStream.foreachBatch(collect)),
        ("raw", records.writeStream.foreachBatch(stage)),
    ):
        checkpoint = query.option("checkpointLocation", str(folder / "checkpoints" / name))
        checkpoint.trigger(availableNow=True).start().awaitTermination()


def _batch(spark: SparkSession, folder: Path) -> None:
    """Compare a table with what a batch computes, and stage that."""
    computed = _hourly(spark.read.format("delta").load(str(folder / "raw")))
    rows = computed.select(F.col("window.start").alias("hour"), "key", "rows", "sum")
    written = spark.read.format("delta").load(str(folder / "table"))
    rows.join(written, ["hour", "key"], "full_outer").filter(F.xxhash64("hour", "key") == 0).collect()
    rows.write.parquet(str(folder / "stage"))
    spark.read.schema(rows.schema).parquet(str(folder / "stage")).persist().count()
    rows.toArrow()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
