"""Requests to a few services, of which one fails for some minutes now and then, and which learn new messages."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

SERVICES = ("checkout", "search", "cart", "login")
PER_SECOND = 3.0
ERRORS, ERRORS_IN_INCIDENT = 0.01, 0.5
INCIDENTS_PER_HOUR, INCIDENT = 1.5, timedelta(minutes=6)
CALM_AT_FIRST = timedelta(minutes=30)
MESSAGES = (
    "served {n} rows in {n} ms",
    "cache miss for key {h}",
    "user {n} logged in from 10.1.{n}.7",
    "retry {n} of 3",
    "payment {n} accepted",
    "queue length {n}",
)
FAILURES = ("upstream timed out after {n} ms", "connection pool exhausted ({n} waiting)")


def requests(random: Random, start: datetime, end: datetime) -> Iterator[tuple[datetime, dict[str, Any]]]:
    """Yield requests in the order of their times."""
    failing = incidents(Random(random.random()), start, end)
    at = start
    while (at := at + timedelta(seconds=-math.log(1 - random.random()) / PER_SECOND)) < end:
        service = SERVICES[int(random.random() ** 1.3 * len(SERVICES))]
        ill = any(name == service and since <= at < until for name, since, until in failing)
        failed = random.random() < (ERRORS_IN_INCIDENT if ill else ERRORS)
        known = 2 + int((at - start) / timedelta(hours=1))  # a deployment each hour brings a message more
        messages = FAILURES if failed else MESSAGES[: min(known, len(MESSAGES))]
        message = messages[int(random.random() * len(messages))]
        n = int(random.random() * 250)
        yield (
            at,
            {
                "host": f"10.0.{int(random.random() * 4)}.{int(random.random() * 250)}",
                "service": service,
                "request": f"GET /{service}/{n}",
                "status": 503 if failed else 200,
                "ms": int(5 + 60 * -math.log(1 - random.random())) * (10 if failed else 1),
                "message": message.format(n=n, h=f"0x{n:x}f"),
            },
        )


def incidents(random: Random, start: datetime, end: datetime) -> list[tuple[str, datetime, datetime]]:
    """Return which service fails from when until when."""
    found = []
    at = start + CALM_AT_FIRST
    while (at := at + timedelta(hours=-math.log(1 - random.random()) / INCIDENTS_PER_HOUR)) < end:
        service = SERVICES[int(random.random() * len(SERVICES))]
        found.append((service, at, at + INCIDENT * (0.7 + 0.6 * random.random())))
    return found
