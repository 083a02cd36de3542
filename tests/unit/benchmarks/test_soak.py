"""How a soak judges what it has sampled."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.soaking.acts import Timetable
from benchmarks.soaking.levels import Samples, growth, growth_of_lives
from benchmarks.soaking.looking import _TOTAL
from benchmarks.soaking.pictures import write_pictures
from benchmarks.soaking.place import Load


def samples(*values: float, begin: float = 0.0) -> Samples:
    return [(begin + 10.0 * number, value) for number, value in enumerate(values)]


def test_what_leaks_grows_and_what_fills_at_first_does_not() -> None:
    assert growth(samples(*range(100, 200))) == pytest.approx(187 / 137, rel=0.02)
    assert growth(samples(*range(20), *[20.0] * 80)) == 1.0
    assert growth(samples(*[20.0] * 80, *[10.0] * 20)) == 0.5


def test_one_wild_sample_is_no_growth() -> None:
    values = [5.0] * 40
    values[37] = 900.0
    assert growth(samples(*values)) == 1.0


@pytest.mark.parametrize("values", [(), (1.0,), (1.0, 2.0)])
def test_too_few_samples_say_nothing(values: tuple[float, ...]) -> None:
    assert growth(samples(*values)) is None


def test_what_comes_from_nothing_has_grown() -> None:
    assert growth(samples(*[0.0] * 50, *[3.0] * 50)) == 2.0
    assert growth(samples(*[0.0] * 100)) == 1.0


def test_what_begins_again_with_each_driver_is_judged_within_its_life() -> None:
    level, short = samples(*[7.0] * 20), samples(1.0, 50.0)
    assert growth_of_lives({1: level, 2: samples(*[9.0] * 20, begin=200), 3: short}) == 1.0
    leaking = {number: samples(*range(100, 140), begin=400.0 * number) for number in range(3)}
    assert (growth_of_lives(leaking) or 0) > 1.05
    assert growth_of_lives({1: short}) is None


@given(st.lists(st.floats(1, 1e6), min_size=8, max_size=60), st.floats(0.5, 100))
def test_the_unit_does_not_matter(values: list[float], factor: float) -> None:
    found = growth(samples(*values))
    assert found == pytest.approx(growth(samples(*(factor * value for value in values))))


def test_a_timetable_is_a_function_of_its_seed() -> None:
    def times(seed: int) -> list[int]:
        timetable = Timetable(100, seed)
        return [at for at in range(0, 2_000, 10) if timetable.due(at)]

    assert times(1) == times(1) != times(2)
    pauses = [after - before for before, after in zip(times(1), times(1)[1:], strict=False)]
    assert all(70 <= pause <= 140 for pause in pauses)


def test_the_load_says_the_time_of_its_newest_record(monkeypatch: pytest.MonkeyPatch) -> None:
    class Producer:
        def __init__(self, **_: object) -> None:
            self.values: list[bytes] = []

        def send(self, _: str, *, key: bytes, value: bytes) -> None:
            assert key
            self.values.append(value)

        def flush(self) -> None:
            self.values.append(b"flushed")

    monkeypatch.setattr("benchmarks.soaking.place.KafkaProducer", Producer)
    load = Load("nowhere", 50)
    begun = load.now
    for _ in range(50 * 15):
        load._send()
    assert (load.now - begun).total_seconds() == 2 * 3600


def test_pictures_stand_alone_and_name_what_they_show(tmp_path: Path) -> None:
    files = write_pictures(tmp_path / "soak", {"heap": ("MB", samples(*range(50))), "rows": ("rows", [])}, 1.7e9)
    assert [file.name for file in files] == ["heap.svg"]
    text = files[0].read_text()
    assert text.startswith("<svg ")
    assert text.count("<svg ") == text.count("</svg>")
    assert "heap (MB)" in text


def test_the_total_of_a_histogram_is_its_bytes() -> None:
    said = " num     #instances         #bytes  class name\n   1:  10  160  [B\nTotal       1234567       99887766\n"
    found = _TOTAL.search(said)
    assert found is not None
    assert found.group(1) == "99887766"
