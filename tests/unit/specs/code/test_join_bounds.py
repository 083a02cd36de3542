"""How far apart in time a SELECT joins its sources, and how far these have to be read for it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sluice.specs.code.join_bounds import time_joins
from sluice.specs.code.join_rules import TimeJoin, TimeJoins
from sluice.specs.code.select import Select

COLUMNS = {"shown": ("ad", "at", "seen"), "clicks": ("ad", "at"), "sales": ("ad", "sold_at"), "ads": ("ad", "name")}
EVENT_TIMES = {"shown": "at", "clicks": "at", "sales": "sold_at"}
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
NONE = timedelta()


def found(text: str) -> TimeJoins:
    return time_joins(Select.of(text, "x.sql"), COLUMNS, EVENT_TIMES)


def joined(condition: str, columns: str = "s.ad") -> TimeJoins:
    return found(f"SELECT {columns}\nFROM shown s JOIN clicks c ON s.ad = c.ad\n AND {condition}")


@pytest.mark.parametrize(
    ("condition", "least", "most"),
    [  # of the time of `shown` less that of `clicks`
        ("c.at BETWEEN s.at AND s.at + INTERVAL 1 HOUR", -HOUR, NONE),
        ("c.at >= s.at AND c.at < s.at + INTERVAL '1' HOUR", -HOUR, NONE),
        ("s.at <= c.at AND c.at - INTERVAL '1 hour' <= s.at", -HOUR, NONE),
        ("(c.at > s.at - INTERVAL 10 MINUTES AND (c.at <= s.at + INTERVAL 30 SECONDS))", -MINUTE / 2, 10 * MINUTE),
        ("c.at - s.at BETWEEN INTERVAL 0 SECONDS AND INTERVAL 1 DAY", -24 * HOUR, NONE),
        ("c.at <= s.at + INTERVAL 1 HOUR 30 MINUTES AND c.at >= s.at", -90 * MINUTE, NONE),
        ("c.at = s.at", NONE, NONE),
        ("c.at = s.at + INTERVAL -5 MINUTES", 5 * MINUTE, 5 * MINUTE),
        ("CAST(c.at AS TIMESTAMP) BETWEEN s.at AND s.at + INTERVAL 1 HOUR", -HOUR, NONE),
        ("c.at >= s.at", None, NONE),
        ("c.at <= s.at + INTERVAL 1 HOUR", -HOUR, None),
        ("C.AT BETWEEN S.At AND s.at + interval 1 hour", -HOUR, NONE),
        ("c.at >= s.at AND c.at <= s.at + INTERVAL 2 HOURS AND c.at < s.at + INTERVAL 1 HOUR", -HOUR, NONE),
    ],
)
def test_conditions_on_event_times_bound_them(condition: str, least: timedelta | None, most: timedelta | None) -> None:
    (join,) = joined(condition).joins
    assert join == TimeJoin("shown", "clicks", least, most, line=3) or join == TimeJoin(
        "clicks", "shown", None if most is None else -most, None if least is None else -least, line=3
    )


@pytest.mark.parametrize(
    "condition",
    [
        "c.at BETWEEN s.seen AND s.seen + INTERVAL 1 HOUR",  # no event time
        "c.at >= s.at OR c.ad = 'x'",
        "NOT c.at BETWEEN s.at AND s.at + INTERVAL 1 HOUR",
        "c.at <= s.at + INTERVAL 1 MONTH",  # no fixed length
        "c.at <= s.at + INTERVAL '01:30' HOUR TO MINUTE",
        "window(c.at, '1 hour') = window(s.at, '1 hour')",
        "date_trunc('hour', c.at) = date_trunc('hour', s.at)",
        "CAST(c.at AS DATE) = s.at",
        "c.at >= TIMESTAMP '2026-01-01 00:00:00'",
        "c.at + s.at >= s.at",
        "at >= s.at",  # of whichever table
    ],
)
def test_other_conditions_bound_nothing(condition: str) -> None:
    assert joined(condition).joins == ()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 FROM shown, clicks WHERE clicks.at BETWEEN shown.at AND shown.at + INTERVAL 1 HOUR",
        "SELECT 1 FROM shown s LEFT JOIN clicks c ON c.at >= s.at AND c.at <= s.at + INTERVAL 1 HOUR",
        "SELECT 1 FROM shown s LEFT SEMI JOIN clicks c ON c.at >= s.at AND c.at <= s.at + INTERVAL 1 HOUR",
        "SELECT 1 FROM shown s JOIN (SELECT ad, at AS t FROM clicks) c ON c.t BETWEEN s.at AND s.at + INTERVAL 1 HOUR",
        (
            "WITH c AS (SELECT * FROM clicks), s AS (SELECT x.at AS t FROM shown AS x) "
            "SELECT 1 FROM s JOIN c ON at >= t AND at <= t + INTERVAL 1 HOUR"
        ),
        "SELECT 1 FROM (SELECT s.* FROM shown s) s JOIN clicks c ON c.at BETWEEN s.at AND s.at + INTERVAL 1 HOUR",
        (
            "SELECT 1 FROM ads WHERE ad IN (SELECT c.ad FROM shown s JOIN clicks c "
            "ON c.at BETWEEN s.at AND s.at + INTERVAL 1 HOUR)"
        ),
        (
            "SELECT 1 FROM ads UNION ALL SELECT 1 FROM shown s JOIN clicks c "
            "ON c.at BETWEEN s.at AND s.at + INTERVAL 1 HOUR"
        ),
    ],
)
def test_times_are_known_through_aliases_wherever_the_join_stands(text: str) -> None:
    (join,) = found(text).joins
    assert {join.most_before("shown"), join.most_before("clicks")} == {HOUR, NONE}
    assert join.most_before("shown") == HOUR


def test_bounds_of_sources_that_are_not_compared_follow_from_others() -> None:
    text = (
        "SELECT 1 FROM shown s JOIN clicks c ON c.at BETWEEN s.at AND s.at + INTERVAL 1 HOUR "
        "JOIN sales b ON b.sold_at BETWEEN c.at AND c.at + INTERVAL 1 DAY"
    )
    most = {frozenset((j.first, j.second)): j.most_before("shown") for j in found(text).joins}
    assert most[frozenset(("shown", "sales"))] == 25 * HOUR
    nested = (
        "WITH both AS (SELECT s.at, c.at AS clicked FROM shown s JOIN clicks c "
        "ON c.at BETWEEN s.at AND s.at + INTERVAL 1 HOUR) SELECT 1 FROM both JOIN sales b "
        "ON b.sold_at BETWEEN clicked AND clicked + INTERVAL 1 DAY"
    )
    outer = [join for join in found(nested).joins if {join.first, join.second} == {"shown", "sales"}]
    assert [join.most_before("shown") for join in outer] == [25 * HOUR]


def test_a_query_that_names_itself_ends() -> None:
    assert found("WITH t AS (SELECT * FROM t) SELECT t.at FROM t JOIN clicks c ON c.at = t.at").joins == ()


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ("c.at AS t", {"t": "clicks"}),
        ("c.at", {"at": "clicks"}),
        ("window(s.at, '1 hour').start AS t, count(*)", {"t": "shown"}),
        ("window(s.at, '1 hour', '5 minutes').start AS t", {"t": "shown"}),
        ("date_trunc('hour', s.at) AS t", {"t": "shown"}),
        ("CAST(s.at AS TIMESTAMP) AS t", {"t": "shown"}),
        ("s.*", {"at": "shown"}),
        ("*", {}),
        ("window(s.at, '1 hour').end AS t", {}),
        ("window(s.at, '1 hour', '1 hour', '15 minutes').start AS t", {}),
        ("session_window(s.at, '1 hour').start AS t", {}),
        ("greatest(s.at, c.at) AS t", {}),
        ("s.at + INTERVAL 1 HOUR AS t", {}),
        ("max(s.at) AS t", {}),
        ("s.seen AS t", {}),
    ],
)
def test_a_column_may_have_the_time_of_one_source(columns: str, rows: dict[str, str]) -> None:
    assert joined("c.at >= s.at", columns).row_times == rows


def test_the_window_that_rows_are_grouped_by_has_the_time_of_its_source() -> None:
    text = (
        "WITH w AS (SELECT window.start AS hour FROM shown s JOIN clicks c ON s.ad = c.ad "
        "GROUP BY window(c.at, '1 hour')) SELECT hour AS t FROM w"
    )
    assert found(text).row_times == {"t": "clicks"}
    assert found("SELECT window.start AS t FROM shown s").row_times == {}
