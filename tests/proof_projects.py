"""Projects whose pipelines are proven in tests: over two topics, with every format of values, with static inputs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sluice.settings import settings

_TIMES = {
    "shown_at": {"type": "timestamp", "required": True},
    "seen_at": {"type": "timestamp", "required": True},
}
_RULES = {"allowed_lateness": "30 minutes", "future_skew": "10 minutes", "arrival_disorder": "5 minutes"}
_SHOWN = {
    "impression": {"type": "string", "required": True},
    "campaign": {"type": "string", "required": True, "one_of": ["north", "south", "west"]},
    "cost": {"type": "decimal", "precision": 9, "scale": 2, "minimum": 0, "required": True},
    **_TIMES,
}
_CLICKED = {
    "click": {"type": "long", "required": True},
    "impression": {"type": "string", "required": True},
    "clicked_at": {"type": "timestamp", "required": True, "epoch": "milliseconds"},
    "known_at": {"type": "timestamp", "required": True, "epoch": "milliseconds"},
}
_CAMPAIGNS = {"path": "data/campaigns.csv", "columns": {"campaign": "string", "name": "string"}}
_JOIN = """\
SELECT c.clicked_at, c.click, s.campaign, g.name, s.cost
FROM clicked AS c
JOIN shown AS s
  ON s.impression = c.impression AND s.shown_at BETWEEN c.clicked_at - INTERVAL 1 HOUR AND c.clicked_at
JOIN campaigns AS g ON g.campaign = s.campaign
"""
_UNION = """\
SELECT shown_at AS at, impression, 'shown' AS what, cost FROM shown
UNION ALL
SELECT clicked_at AS at, impression, 'clicked' AS what, CAST(click AS DECIMAL(9, 2)) AS cost FROM clicked
"""
_COUNTED = """\
SELECT window.start AS hour, what, count(*) AS events
FROM (
  SELECT shown_at AS at, 'shown' AS what FROM shown
  UNION ALL
  SELECT clicked_at AS at, 'clicked' AS what FROM clicked
)
GROUP BY window(at, '1 hour'), what
"""
JOINED, UNITED, COUNTED = "joined", "united", "counted"
"""Pipelines over two topics: a join with a static input, records of both one by one, and hours of both."""

_NESTED: dict[str, Any] = {
    "id": {"type": "long", "required": True},
    "at": {"type": "timestamp", "required": True},
    "seen": {"type": "timestamp", "required": True},
    "day": {"type": "date", "required": True},
    "price": {"type": "decimal", "precision": 9, "scale": 2, "required": True},
    "share": {"type": "double", "minimum": 0.1, "maximum": 0.3},
    "state": {"type": "string", "required": True, "one_of": ["NEW", "PAID"]},
    "code": {"type": "binary"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "sizes": {"type": "map", "values": {"type": "long"}},
    "buyer": {"type": "object", "required": True, "fields": {"name": {"type": "string"}, "age": {"type": "integer"}}},
}
_FLAT = {name: field for name, field in _NESTED.items() if field["type"] not in ("array", "map", "object")}
_AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "seen", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "share", "type": ["null", "float"], "default": None},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID", "GONE"]}},
        {"name": "code", "type": ["null", {"type": "fixed", "name": "Code", "size": 4}], "default": None},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "sizes", "type": ["null", {"type": "map", "values": "int"}], "default": None},
        {
            "name": "buyer",
            "type": {
                "type": "record",
                "name": "Buyer",
                "fields": [{"name": "name", "type": ["null", "string"]}, {"name": "age", "type": "int"}],
            },
        },
        {"name": "undeclared", "type": {"type": "array", "items": "State"}},
    ],
}
_PROTO = """\
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";

message Other { int32 x = 1; }

message Order {
  int64 id = 1;
  google.protobuf.Timestamp at = 2;
  google.protobuf.Timestamp seen = 3;
  string day = 4;
  string price = 5;
  optional float share = 6;
  enum State { UNKNOWN = 0; NEW = 1; PAID = 2; }
  State state = 7;
  optional bytes code = 8;
  repeated string tags = 9;
  map<string, int64> sizes = 10;
  message Buyer { optional string name = 1; optional int32 age = 2; }
  Buyer buyer = 11;
}
"""
_JSON_SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "at": {"type": "string", "format": "date-time"},
        "seen": {"type": "string", "format": "date-time"},
        "state": {"enum": ["NEW", "PAID"]},
    },
    "required": ["id", "at", "seen", "state"],
}
_LINE = r'(?<at>\S+) (?<seen>[0-9]+) (?<state>NEW|PAID) #(?<id>\d{6,12})(?: \((?<share>0\.\d+)\))? "(?<note>[a-z]*)"'
_FRAMED = {"framing": "confluent", "schemas": {7: 1, 70000: 1}}
FORMATS: Mapping[str, Mapping[str, Any]] = {
    "avro": {"format": "avro", "version": 1, "fields": _NESTED},
    "framed_avro": {**_FRAMED, "format": "avro", "fields": _NESTED},
    "protobuf": {"format": "protobuf", "message": "Order", "version": 1, "fields": _NESTED},
    "framed_protobuf": {**_FRAMED, "format": "protobuf", "message": "Order", "fields": _NESTED},
    "json": {"fields": _NESTED},
    "framed_json": {**_FRAMED, "fields": {name: _NESTED[name] for name in ("id", "at", "seen", "state")}},
    "csv": {"format": "csv", "delimiter": ";", "columns": ["spare", *_FLAT], "fields": _FLAT},
    "text": {
        "format": "text",
        "pattern": _LINE,
        "fields": {
            **{name: _NESTED[name] for name in ("id", "at", "state")},
            "seen": {"type": "timestamp", "required": True, "epoch": "milliseconds"},
            "share": {"type": "double", "minimum": 0.1, "maximum": 0.3},
            "note": {"type": "string"},
        },
    },
}
"""Values of the topic `orders`, by what they are called in tests."""
ORDERS = "orders_kept"
"""The pipeline over that topic: each of its good records is a row."""


def two_topics(folder: Path, *, table: Mapping[str, Any] | None = None) -> Path:
    """Write a project with pipelines over two topics, and return its folder.

    Args:
        folder: of the project.
        table: how the campaigns are declared that are joined; None: as a CSV file, which is written.
    """
    _begin(folder)
    _topic(folder, "ads_shown", {"fields": _SHOWN, **_of("shown_at", "seen_at", "impression")})
    _topic(folder, "ads_clicked", {"fields": _CLICKED, **_of("clicked_at", "known_at", "click")})
    sources = {
        "shown": {"topic": "ads_shown", "time": _RULES},
        "clicked": {"topic": "ads_clicked", "time": _RULES},
    }
    _write(folder / "include/data/campaigns.csv", "campaign,name\nnorth,Up\nsouth,Down\nwest,Left\n")
    intervals = {"kind": "intervals", "table": "clicks_joined", "time_column": "clicked_at", "interval": "hour"}
    joined = {**sources, "shown": {**sources["shown"], "lookback": "1 hour"}}
    _pipeline(folder, JOINED, _JOIN, joined, [intervals], static={"campaigns": table or _CAMPAIGNS})
    rows = [
        {"kind": "rows", "table": "events"},
        {"kind": "topic", "topic": "events_news", "keys": ["what"], "create": {"partitions": 2}},
        {"kind": "latest", "table": "events_newest", "keys": ["what"], "newest_by": "at"},
        {"kind": "dead_letters", "topic": "events_dead", "create": {"partitions": 2}},
    ]
    _pipeline(folder, UNITED, _UNION, sources, rows)
    hours = {"kind": "intervals", "table": "event_hours", "time_column": "hour", "window": "1 hour", "interval": "hour"}
    live = {"kind": "latest", "table": "event_hours_live", "keys": ["hour", "what"], "keep": "open"}
    _pipeline(folder, COUNTED, _COUNTED, sources, [{**hours, "keys": ["what"]}, live])
    return folder


def of_format(folder: Path, name: str) -> Path:
    """Write a project with a pipeline over a topic in one of the formats, and return its folder."""
    _begin(folder)
    value = FORMATS[name]
    _topic(folder, "orders", {**value, **_of("at", "seen", "id")})
    if "version" in value or "schemas" in value:
        form = value.get("format", "json")
        text = {"avro": json.dumps(_AVRO), "protobuf": _PROTO, "json": json.dumps(_JSON_SCHEMA)}[form]
        ending = {"avro": "avsc", "protobuf": "proto", "json": "json"}[form]
        _write(folder / f"include/schemas/orders/1.{ending}", text)
    rows = [
        {"kind": "rows", "table": "orders_rows"},
        {"kind": "dead_letters", "topic": "orders_dead", "create": {"partitions": 2}},
    ]
    source = {"orders": {"topic": "orders", "time": _RULES}}
    _pipeline(folder, ORDERS, "SELECT * FROM orders\n", source, rows)
    return folder


def _begin(folder: Path) -> None:
    for part in ("topics", "pipelines"):
        (folder / "include" / part).mkdir(parents=True)
    home = settings().home
    for part in ("deployments", "access"):
        shutil.copytree(home / "include" / part, folder / "include" / part)
    shutil.copytree(home / "spark_jobs", folder / "spark_jobs", ignore=shutil.ignore_patterns("__pycache__"))


def _of(event: str, arrival: str, identity: str) -> dict[str, Any]:
    return {"event_time": event, "arrival_time": arrival, "event_id": [identity]}


def _topic(folder: Path, name: str, value: Mapping[str, Any]) -> None:
    raw = {"table": f"{name}_raw", "driver": "shop"}
    spec = {"name": name, "partitions": 2, "retention": "forever", "value": dict(value), "raw": raw}
    _write(folder / f"include/topics/{name}.yaml", json.dumps(spec))


def _pipeline(
    folder: Path,
    name: str,
    query: str,
    sources: Mapping[str, Any],
    outputs: list[dict[str, Any]],
    *,
    static: Mapping[str, Any] | None = None,
) -> None:
    _write(folder / f"spark_jobs/transforms/{name}.sql", query)
    spec = {
        "name": name,
        "sources": dict(sources),
        "transform": f"{name}.sql",
        "outputs": outputs,
        "driver": "shop",
        "trigger": "1 second",
        "resources": {"cores": 2, "driver_memory": "700m"},
        **({"static": dict(static)} if static else {}),
    }
    _write(folder / f"include/pipelines/{name}.yaml", json.dumps(spec))


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
