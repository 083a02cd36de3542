"""Services and their messages, worked out line by line."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd

from sluice.simulators.draws import generator
from tests.scenarios.records import simulator

TABLES = ("service_minutes", "service_anomalies", "message_templates")
MINUTE = timedelta(minutes=1)
LINE = re.compile(
    r"(?P<shipped>\S+) (?P<host>[0-9.]+) (?P<service>[a-z]+) \[(?P<at>[^\]]+)\] "
    r'"(?P<request>[^"]*)" (?P<status>\d{3}) (?P<ms>\d+) "(?P<message>[^"]*)"'
)
Minutes = dict[tuple[str, datetime], list[dict[str, Any]]]


def tables(sent: dict[str, Sequence[bytes]], _project: Path) -> dict[str, pd.DataFrame]:
    """Return the rows of all tables, given the values of the topic."""
    requests = sorted(read(sent["access_log"]), key=lambda each: each["at"])
    minutes: Minutes = defaultdict(list)
    for request in requests:
        minutes[request["service"], request["at"].replace(second=0, microsecond=0)].append(request)
    return {
        "service_minutes": pd.DataFrame(counted(service, minute, held) for (service, minute), held in minutes.items()),
        "service_anomalies": pd.DataFrame(anomalies(minutes)),
        "message_templates": pd.DataFrame(templates(requests)),
    }


def read(lines: Sequence[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the requests of the sound lines that are on time."""
    for line in lines:
        match = LINE.fullmatch(line.decode())
        if match is None:
            continue
        at = datetime.strptime(match["at"], "%d/%b/%Y:%H:%M:%S.%f %z").astimezone(UTC)
        if -MINUTE <= datetime.fromisoformat(match["shipped"]) - at <= 5 * MINUTE:
            yield {**match.groupdict(), "at": at, "status": int(match["status"]), "ms": int(match["ms"])}


def counted(service: str, minute: datetime, held: list[dict[str, Any]]) -> dict[str, Any]:
    errors, ms = sum(each["status"] >= 500 for each in held), [each["ms"] for each in held]
    shares = {"error_permille": 1000 * errors // len(held), "ms_mean": sum(ms) // len(held), "ms_max": max(ms)}
    return {"minute": minute, "service": service, "requests": len(held), "errors": errors, **shares}


def anomalies(minutes: Minutes) -> Iterator[dict[str, Any]]:
    for service in sorted({name for name, _ in minutes}):
        own = sorted((minute, held) for (name, minute), held in minutes.items() if name == service)
        learnt: list[int] = []
        for (minute, held), (_, after) in pairwise(own):
            row = counted(service, minute, held)
            share, many = row["error_permille"], row["requests"]
            if len(learnt) >= 10 and many >= 20 and share >= 100 and share > 4 * average(learnt):
                noticed = {"noticed_at": min(each["at"] for each in after), "service": service, "minute": minute}
                yield {**noticed, "requests": many, "error_permille": share}
            else:
                learnt.append(share)


def average(shares: list[int]) -> float:
    """Return the exponential moving average, the newest with a weight of a tenth."""
    found = float(shares[0])
    for share in shares[1:]:
        found = 0.9 * found + 0.1 * share
    return found


def templates(requests: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    known = set()
    for request in requests:
        text = re.sub(r"\b\d+\.\d+\.\d+\.\d+\b", "<address>", request["message"])
        text = re.sub(r"\b0x[0-9a-f]+\b", "<hex>", text)
        template = re.sub(r"\d+(\.\d+)?", "<number>", text)
        if template and (request["service"], template) not in known:
            known.add((request["service"], template))
            yield {"first_at": request["at"], "service": request["service"], "template": template}


def quality(rows: pd.DataFrame, project: Path, seed: int, start: datetime, end: datetime) -> dict[str, float]:
    """Return the share of anomalies that are in an incident, and the share of incidents with an anomaly."""
    web = simulator("web", project)
    injected = web.incidents(Random(generator(seed, "web").random()), start, end)
    found = list(zip(rows["service"], rows["minute"], strict=True))

    def holds(incident: tuple[str, datetime, datetime], service: str, minute: datetime) -> bool:
        return incident[0] == service and incident[1] < minute + MINUTE and minute < incident[2]

    right = [any(holds(each, *one) for each in injected) for one in found]
    detected = [any(holds(each, *one) for one in found) for each in injected]
    return {"precision": sum(right) / len(right), "recall": sum(detected) / len(detected), "episodes": len(injected)}


def comparable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table as the oracle has them."""
    return rows
