"""A card's payments in their order, with the functions of the stream."""

import json
from datetime import UTC, datetime, timedelta

from sluice.interactive.trial import trial

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
MUNICH, TOKYO = (48.1, 11.6), (35.7, 139.7)


def payment(number: int, seconds: float, amount: float, place: tuple[float, float] = MUNICH) -> str:
    at = (NOON + timedelta(seconds=seconds)).isoformat()
    fields = {"payment": f"p{number}", "card": "c", "amount": amount, "lat": place[0], "lon": place[1]}
    return json.dumps({**fields, "paid_at": at, "seen_at": at})


def reasons(*payments: str) -> list[str | None]:
    rows = trial("judged_payments", "\n".join(payments).encode()).rows
    return [row["reasons"] for row in sorted(rows, key=lambda row: row["paid_at"])]


def test_what_a_card_usually_does_decides_what_is_suspicious() -> None:
    usual = [payment(n, 120 * n, 20) for n in range(6)]
    assert reasons(
        *usual,
        payment(6, 700, 25, TOKYO),
        payment(7, 800, 500),
        *(payment(10 + n, 850 + n, 5) for n in range(5)),
    ) == [None] * 6 + ["travel", "amount", None, None, None, "velocity", "velocity"]


def test_a_payment_that_was_sent_twice_is_judged_once() -> None:
    assert reasons(payment(1, 0, 20), payment(1, 0, 20)) == [None]
