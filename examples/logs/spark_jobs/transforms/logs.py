"""Services that fail more than they usually do, and messages of a new form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.spark.keyed import in_order
from transforms.templates import template_of

FIRST_ERROR = 500
LEAST_PERMILLE, TIMES_THE_USUAL, LEAST_REQUESTS = 100, 4, 20
KNOWN_AFTER = 10
"""Minutes after which it is known how often a service usually fails."""
NEWEST_WEIGHT = 0.1
"""The share of the newest minute in the usual share of errors, an exponential moving average."""


def service_anomalies(access_log: DataFrame, *, histories: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Return the minutes in which a service failed far more than usual, when the next minute begins."""
    return in_order(
        access_log.withColumn("minute_of", F.date_trunc("MINUTE", "at")),
        of_one_service,
        by="service",
        order=("at", "shipped_at", "host", "request", "status", "ms", "message"),
        state=histories,
        rows="noticed_at timestamp, service string, minute timestamp, requests bigint, error_permille bigint",
    )


def of_one_service(requests: Iterator[Mapping[str, Any]], history: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the anomalous minutes of one service; such a minute teaches nothing about what is usual."""
    for request in requests:
        if history.get("minute") != request["minute_of"]:
            yield from judged(history, request)
            history.update(minute=request["minute_of"], requests=0, errors=0)
        history["requests"] += 1
        history["errors"] += request["status"] >= FIRST_ERROR


def judged(history: dict[str, Any], request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the minute that is over if it is an anomaly; otherwise learn from it."""
    if history.get("minute") is None:
        return
    permille = 1000 * history["errors"] // history["requests"]
    minutes, usual = history.get("minutes") or 0, history.get("usual") or 0.0
    far = permille >= LEAST_PERMILLE and permille > TIMES_THE_USUAL * usual
    if minutes >= KNOWN_AFTER and history["requests"] >= LEAST_REQUESTS and far:
        yield {
            "noticed_at": request["at"],
            "service": request["service"],
            "minute": history["minute"],
            "requests": history["requests"],
            "error_permille": permille,
        }
        return
    history["minutes"] = minutes + 1
    history["usual"] = permille if minutes == 0 else usual + NEWEST_WEIGHT * (permille - usual)


def message_templates(access_log: DataFrame, *, known: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Return the templates of each service that nobody has seen before, and all that are known now."""
    seen = access_log.where("message IS NOT NULL").select(
        "service", "at", template_of(F.col("message")).alias("template")
    )
    first = seen.groupBy("service", "template").agg(F.min("at").alias("first_at"))
    new = first.join(known, ["service", "template"], "left_anti")
    return new, known.unionByName(new)
