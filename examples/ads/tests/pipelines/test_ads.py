"""Campaigns and visits on a few records, with the functions of the stream."""

import json

from sluice.interactive.trial import trial


def impression(number: int, minute: int, visitor: str = "v1", campaign: str = "c4") -> str:
    at = f"2026-01-05T{12 + minute // 60}:{minute % 60:02}:00Z"
    fields = {"impression": f"i{number}", "campaign": campaign, "visitor": visitor, "page": f"/{number % 2}"}
    return json.dumps({**fields, "shown_at": at, "shown_seen_at": at})


def click(number: int, of: int, minute: int, campaign: str = "c4") -> str:
    at = f"2026-01-05T{12 + minute // 60}:{minute % 60:02}:30Z"
    fields = {"click": f"k{number}", "impression": f"i{of}", "campaign": campaign}
    return json.dumps({**fields, "clicked_at": at, "click_seen_at": at})


def lines(*records: str) -> bytes:
    return "\n".join(records).encode()


def test_a_click_counts_within_an_hour_and_costs_what_its_campaign_says() -> None:
    found = trial(
        "campaign_minutes",
        {
            "impressions": lines(impression(1, 0), impression(2, 0), impression(3, 1)),
            "clicks": lines(click(1, 1, 59), click(2, 2, 60), click(3, 3, 1), click(4, 3, 2)),
        },
    )
    assert [(row["minute"], row["impressions"], row["clicks"], row["spent_cents"]) for row in found.rows] == [
        ("2026-01-05T12:00:00Z", 2, 1, 40),
        ("2026-01-05T12:01:00Z", 1, 2, 80),
    ]


def test_a_campaign_is_stopped_once_by_the_click_that_spends_its_budget() -> None:
    found = trial("campaign_stops", lines(*(click(n, n, n) for n in range(100, 230)), click(229, 229, 229)))
    assert [(row["campaign"], row["command"], row["spent_cents"]) for row in found.rows] == [("c4", "stop", 1600)]


def test_a_visit_ends_with_half_an_hour_without_anything() -> None:
    found = trial("visits", lines(impression(1, 0), impression(2, 20), impression(3, 49), impression(4, 80)))
    rows = sorted((row["began_at"], row["ended_at"], row["views"], row["pages"]) for row in found.rows)
    assert rows == [
        ("2026-01-05T12:00:00Z", "2026-01-05T13:19:00Z", 3, 2),
        ("2026-01-05T13:20:00Z", "2026-01-05T13:50:00Z", 1, 1),
    ]
