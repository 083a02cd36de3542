"""Readings on a few records, with the functions of the stream."""

import json

from sluice.interactive.trial import trial


def reading(number: int, minute: int, machine: str, vibration: float, temperature: float) -> str:
    at = f"2026-01-05T12:{minute:02}:00Z"
    fields = {"reading": f"x{number}", "machine": machine, "temperature": temperature, "vibration": vibration}
    return json.dumps({**fields, "pressure": 4.8, "measured_at": at, "reading_seen_at": at})


def breakdown(minute: int, machine: str) -> str:
    at = f"2026-01-05T12:{minute:02}:00Z"
    return json.dumps({"breakdown": "b", "machine": machine, "broke_at": at, "breakdown_seen_at": at})


READINGS = "\n".join([reading(1, 0, "m1", 2.0, 60), reading(2, 1, "m2", 4.6, 70), reading(3, 50, "m2", 2.0, 60)])


def test_a_machine_that_vibrates_scores_higher_than_one_that_does_not() -> None:
    scores = {row["reading"]: row["score"] for row in trial("scored_readings", READINGS.encode()).rows}
    assert scores["x2"] > 0.9
    assert scores["x1"] < 0.1


def test_a_label_says_whether_the_machine_broke_within_the_hour() -> None:
    found = trial("labelled_readings", {"readings": READINGS.encode(), "breakdowns": breakdown(40, "m2").encode()})
    assert {row["reading"]: row["breaks"] for row in found.rows} == {"x1": False, "x2": True, "x3": False}
