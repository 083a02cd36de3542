"""Payments of cards, and three kinds of fraud: tests in quick succession, use far away, and large amounts."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

CARDS = 400
BETWEEN_PAYMENTS = timedelta(minutes=15)
FRAUD = 0.004
"""The share of payments that are followed by an episode of fraud."""
KNOWN_AFTER = 8
"""Payments of a card before it is stolen: nobody can tell what is unusual for a new one."""
CITIES = ((48.1, 11.6), (52.5, 13.4), (40.7, -74.0), (34.1, -118.2), (35.7, 139.7), (-23.6, -46.6), (-33.9, 151.2))

Payment = tuple[datetime, dict[str, Any], int]
"""A payment, and the number of the episode of fraud that it belongs to; 0: it is honest."""


def payments(random: Random, start: datetime, end: datetime) -> Iterator[tuple[datetime, dict[str, Any]]]:
    """Yield payments in the order of their times."""
    for at, fields, _ in labelled(random, start, end):
        yield at, fields


def labelled(random: Random, start: datetime, end: datetime) -> Iterator[Payment]:
    """Yield payments in the order of their times, each with its episode of fraud."""
    city = [CITIES[int(random.random() * len(CITIES))] for _ in range(CARDS)]
    usual = [math.exp(2 + 2 * random.random()) for _ in range(CARDS)]
    count = [0] * CARDS
    due = [(start + wait(random, BETWEEN_PAYMENTS), number, card, 0, "") for number, card in enumerate(range(CARDS))]
    heapq.heapify(due)
    number, episodes = CARDS, 0
    while due and due[0][0] < end:
        at, _, card, episode, kind = heapq.heappop(due)
        number += 1
        yield at, {"payment": f"pay-{number}", **paid(random, card, city[card], usual[card], kind)}, episode
        if episode:
            continue
        count[card] += 1
        heapq.heappush(due, (at + wait(random, BETWEEN_PAYMENTS), number, card, 0, ""))
        if count[card] > KNOWN_AFTER and random.random() < FRAUD:
            episodes += 1
            for stolen_at, what in episode_of(random, at):
                number += 1
                heapq.heappush(due, (stolen_at, number, card, episodes, what))


def episode_of(random: Random, at: datetime) -> Iterator[tuple[datetime, str]]:
    """Yield the payments of one episode: when, and of what kind."""
    kind = ("velocity", "travel", "amount")[int(random.random() * 3)]
    first = at + timedelta(minutes=2 + 20 * random.random())
    for n in range(9 if kind == "velocity" else 1):
        yield first + timedelta(seconds=5 * n), kind


def wait(random: Random, mean: timedelta) -> timedelta:
    """Draw how long it takes until the next payment."""
    return timedelta(seconds=-math.log(1 - random.random()) * mean.total_seconds())


def paid(random: Random, card: int, city: tuple[float, float], usual: float, kind: str) -> dict[str, Any]:
    """Return the fields of a payment, without its id."""
    if kind == "travel":
        far = [other for other in CITIES if abs(other[1] - city[1]) > 40 or abs(other[0] - city[0]) > 40]
        city = far[int(random.random() * len(far))]
    times = 15 + 15 * random.random() if kind == "amount" else math.exp(0.9 * (random.random() + random.random() - 1))
    return {
        "card": f"card-{card}",
        "amount": round(usual * times, 2),
        "lat": round(city[0] + 0.1 * random.random(), 4),
        "lon": round(city[1] + 0.1 * random.random(), 4),
    }
