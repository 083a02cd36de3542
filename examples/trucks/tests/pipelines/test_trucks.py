"""A truck on a few records, with the functions of the stream."""

import json

from sluice.interactive.trial import trial

DEPOT, ROAD = (48.10, 11.60), (48.30, 11.50)


def position(second: int, at: tuple[float, float] = ROAD, speed: float = 80.0) -> str:
    time = f"2026-01-05T12:{second // 60:02}:{second % 60:02}Z"
    fields = {"truck": "t", "lat": at[0], "lon": at[1], "km_per_hour": speed}
    return json.dumps({**fields, "measured_at": time, "position_seen_at": time})


def reading(minute: int, coolant: float = 90.0, fuel: float = 0.0, km: float = 0.0, route: str = "r1") -> str:
    time = f"2026-01-05T12:{minute:02}:00Z"
    fields = {"truck": "t", "route": route, "coolant_c": coolant, "fuel_used_l": fuel, "odometer_km": km}
    return json.dumps({**fields, "read_at": time, "engine_seen_at": time})


def lines(*records: str) -> bytes:
    return "\n".join(records).encode()


def test_a_stop_lasts_from_the_first_to_the_last_position_without_speed() -> None:
    found = trial("truck_stops", lines(position(0), *(position(30 * n, speed=0.0) for n in range(1, 8)), position(600)))
    assert [(row["began_at"], row["seconds"]) for row in found.rows] == [("2026-01-05T12:00:30Z", 180)]


def test_a_place_is_entered_and_left_once_each() -> None:
    found = trial("fence_crossings", lines(position(0), position(30, DEPOT), position(60, DEPOT), position(90)))
    rows = sorted((row["crossed_at"], row["place"], row["entered"]) for row in found.rows)
    assert rows == [
        ("2026-01-05T12:00:30Z", "Munich depot", True),
        ("2026-01-05T12:01:30Z", "Munich depot", False),
    ]


def test_an_engine_is_reported_by_its_third_hot_reading() -> None:
    hot = [110, 110, 90, 110, 110, 110, 110, 90]
    found = trial("engine_faults", lines(*(reading(minute, coolant) for minute, coolant in enumerate(hot))))
    assert [row["since"] for row in found.rows] == ["2026-01-05T12:05:00Z"]


def test_the_fuel_of_a_route_is_known_when_the_next_one_begins() -> None:
    readings = [reading(0, fuel=5, km=100), reading(1, fuel=6.5, km=104), reading(2, fuel=7, km=105, route="r2")]
    (row,) = trial("route_fuel", lines(*readings)).rows
    assert (row["route"], row["litres"], row["km"]) == ("r1", 1.5, 4.0)
