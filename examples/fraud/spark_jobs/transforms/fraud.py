"""Payments judged in their order, card by card."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame

from sluice.spark.keyed import in_order

MINUTE = timedelta(minutes=1)
MOST_PER_MINUTE = 4
FASTEST_KM_PER_HOUR = 900.0
NEAR_KM = 50.0
TIMES_THE_USUAL = 8.0
KNOWN_AFTER = 5
"""Payments after which a card's usual amount counts."""
NEWEST_WEIGHT = 0.2
"""The share of the newest payment in the usual amount, an exponential moving average."""
EARTH_KM = 6_371.0


def judged_payments(payments: DataFrame, *, cards: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Return each payment once, with the reasons why it is suspicious, and what is known of the cards."""
    rows = "paid_at timestamp, payment string, card string, amount decimal(12, 2), reasons string"
    return in_order(payments, of_one_card, by="card", order=("paid_at", "payment", "seen_at"), state=cards, rows=rows)


def of_one_card(payments: Iterator[Mapping[str, Any]], card: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the payments of one card; a suspicious one teaches nothing about where and how it is used."""
    for payment in payments:
        if payment["payment"] == card.get("last_payment"):
            continue  # it was sent twice
        card["last_payment"] = payment["payment"]
        card["recent"] = [at for at in card.get("recent") or [] if payment["paid_at"] - at < MINUTE]
        card["recent"].append(payment["paid_at"])
        reasons = list(reasons_of(payment, card))
        if not reasons:
            learn(payment, card)
        yield {
            **{name: payment[name] for name in ("paid_at", "payment", "card", "amount")},
            "reasons": ", ".join(reasons) or None,
        }


def reasons_of(payment: Mapping[str, Any], card: Mapping[str, Any]) -> Iterator[str]:
    """Yield why a payment is suspicious."""
    if len(card["recent"]) > MOST_PER_MINUTE:
        yield "velocity"
    if card.get("trusted_at") is not None:
        away = distance_km((card["lat"], card["lon"]), (payment["lat"], payment["lon"]))
        hours = (payment["paid_at"] - card["trusted_at"]).total_seconds() / 3600
        if away > NEAR_KM and away > FASTEST_KM_PER_HOUR * hours:
            yield "travel"
    if card.get("payments", 0) >= KNOWN_AFTER and float(payment["amount"]) > TIMES_THE_USUAL * card["usual"]:
        yield "amount"


def learn(payment: Mapping[str, Any], card: dict[str, Any]) -> None:
    """Take a payment into what is known of its card."""
    amount = float(payment["amount"])
    card["payments"] = card.get("payments", 0) + 1
    card["usual"] = amount + (1 - NEWEST_WEIGHT) * (card.get("usual", amount) - amount)
    card["lat"], card["lon"], card["trusted_at"] = payment["lat"], payment["lon"], payment["paid_at"]


def distance_km(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the distance of two points (latitude and longitude in degrees) on a sphere."""
    (lat1, lon1), (lat2, lon2) = (map(math.radians, point) for point in (one, other))
    across = math.sin((lat2 - lat1) / 2) ** 2
    along = math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return 2 * EARTH_KM * math.asin(math.sqrt(min(across + along, 1.0)))
