"""A service on a few lines, with the functions of the stream."""

from datetime import UTC, datetime, timedelta

from sluice.interactive.trial import trial

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def line(second: float, status: int = 200, message: str = "served 3 rows in 5 ms") -> str:
    at = NOON + timedelta(seconds=second)
    time = f"{at:%d/%b/%Y:%H:%M:%S}.{at.microsecond // 1000:03} +0000"
    return f'{at:%FT%TZ} 10.0.0.1 cart [{time}] "GET /cart/{int(second * 1000)}" {status} 12 "{message}"'


def lines(*records: str) -> bytes:
    return "\n".join(records).encode()


def test_lines_are_counted_by_service_and_minute_and_others_are_quarantined() -> None:
    found = trial("service_minutes", lines(line(1), line(2, 503), line(61), "no line of a log"))
    assert [(row["minute"], row["requests"], row["errors"], row["error_permille"]) for row in found.rows] == [
        ("2026-01-05T12:00:00Z", 2, 1, 500),
        ("2026-01-05T12:01:00Z", 1, 0, 0),
    ]
    assert found.lines[3].outcome == "quarantined"


def test_a_minute_is_an_anomaly_by_what_the_service_usually_does() -> None:
    calm = [line(60 * minute + n, 503 if n == 0 else 200) for minute in range(12) for n in range(25)]
    bad = [line(60 * 12 + n, 503 if n < 10 else 200) for n in range(25)]
    (row,) = trial("service_anomalies", lines(*calm, *bad, line(60 * 13))).rows
    assert (row["minute"], row["error_permille"]) == ("2026-01-05T12:12:00Z", 400)


def test_a_message_of_a_known_form_is_not_new() -> None:
    messages = ["served 3 rows in 5 ms", "served 71 rows in 5.5 ms", "user 7 logged in from 10.1.2.3"]
    found = trial("message_templates", lines(*(line(n, message=text) for n, text in enumerate(messages))))
    assert sorted(row["template"] for row in found.rows) == [
        "served <number> rows in <number> ms",
        "user <number> logged in from <address>",
    ]
