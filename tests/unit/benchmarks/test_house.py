"""The counts of the house stay where they were brought to."""

from __future__ import annotations

from benchmarks import house


def test_the_house_keeps_its_bounds() -> None:
    figures, notes = house.run()
    none = ("circles", "arrows_up", "class_names_twice", "banned_words")
    assert {name: figures[name] for name in none} == dict.fromkeys(none, 0), notes
    most = {"loose_modules": 6, "files_per_folder_max": 20, "function_max": 40, "module_max": 400, "readme_words": 900}
    assert {name: figures[name] for name, bound in most.items() if figures[name] > bound} == {}
