"""Judged payments: the rules again, over the list of each card's payments, and how well they find what was injected."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd

from sluice.simulators.draws import generator
from tests.scenarios.records import on_time, simulator

TABLES = ("judged_payments",)
KINDS = {"payment": (str,), "card": (str,), "amount": (int, float), "lat": (int, float), "lon": (int, float)}


def tables(sent: dict[str, Sequence[bytes]], _project: Path) -> dict[str, pd.DataFrame]:
    """Return the rows of the table, given the values of each topic."""
    sound = on_time(
        sent["payments"],
        KINDS,
        event="paid_at",
        arrival="seen_at",
        lateness=timedelta(minutes=10),
        skew=timedelta(minutes=1),
    )
    once = {payment["payment"]: payment for payment in sound}
    by_card: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for payment in sorted(once.values(), key=lambda each: (each["paid_at"], each["payment"])):
        by_card[payment["card"]].append(payment)
    rows = [row for payments in by_card.values() for row in judged(payments)]
    return {"judged_payments": pd.DataFrame(rows)}


def judged(payments: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of one card, whose payments are in order."""
    rows, trusted = [], list[dict[str, Any]]()
    for n, payment in enumerate(payments):
        reasons = []
        before = [each for each in payments[:n] if payment["paid_at"] - each["paid_at"] < timedelta(minutes=1)]
        if len(before) + 1 > 4:
            reasons.append("velocity")
        if trusted:
            km, passed = kilometres(trusted[-1], payment), payment["paid_at"] - trusted[-1]["paid_at"]
            if km > max(50, 900 * passed / timedelta(hours=1)):
                reasons.append("travel")
        if len(trusted) >= 5 and payment["amount"] > 8 * usual([each["amount"] for each in trusted]):
            reasons.append("amount")
        if not reasons:
            trusted.append(payment)
        row = {name: payment[name] for name in ("paid_at", "payment", "card")}
        rows.append({**row, "cents": round(payment["amount"] * 100), "reasons": ", ".join(reasons) or None})
    return rows


def usual(amounts: list[float]) -> float:
    """Return the exponential moving average, the newest with a weight of a fifth."""
    rest = [0.2 * 0.8 ** (len(amounts) - 1 - n) * amount for n, amount in enumerate(amounts) if n]
    return 0.8 ** (len(amounts) - 1) * amounts[0] + sum(rest)


def kilometres(one: dict[str, Any], other: dict[str, Any]) -> float:
    """Return the distance of two payments, by the angle between their directions from the centre of the earth."""
    a, b = (direction(math.radians(each["lat"]), math.radians(each["lon"])) for each in (one, other))
    return 6371 * math.acos(min(1.0, sum(x * y for x, y in zip(a, b, strict=True))))


def direction(lat: float, lon: float) -> tuple[float, float, float]:
    return math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)


def comparable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the table as the oracle has them: amounts in cents."""
    return rows.assign(cents=(rows["amount"].astype(float) * 100).round().astype(int))


def quality(rows: pd.DataFrame, project: Path, seed: int, start: datetime, end: datetime) -> dict[str, float]:
    """Return the share of suspicions that are right, and the share of episodes of fraud with a suspicion."""
    cards = simulator("cards", project)
    labels = {fields["payment"]: episode for _, fields, episode in cards.labelled(generator(seed, "cards"), start, end)}
    suspicious = rows[rows["reasons"].notna()]
    right = [labels[payment] > 0 for payment in suspicious["payment"]]
    known = {labels[payment] for payment in rows["payment"]} - {0}
    detected = {labels[payment] for payment in suspicious["payment"]} - {0}
    return {"precision": sum(right) / len(right), "recall": len(detected) / len(known), "episodes": len(known)}
