from __future__ import annotations

from pathlib import Path

from sluice.launch.keeper import rotate


def test_a_long_log_is_moved_aside_and_the_open_file_starts_anew(tmp_path: Path) -> None:
    log = tmp_path / "driver.log"
    with log.open("a", encoding="utf-8") as file:
        file.write("old\n" * 10)
        file.flush()
        rotate(log, limit=39)
        file.write("new\n")
    assert log.read_text() == "new\n"
    assert (tmp_path / "driver.log.1").read_text() == "old\n" * 10


def test_a_short_log_stays(tmp_path: Path) -> None:
    log = tmp_path / "driver.log"
    log.write_text("x" * 40)
    rotate(log, limit=40)
    assert log.read_text() == "x" * 40
    assert not (tmp_path / "driver.log.1").exists()


def test_a_log_that_somebody_has_removed_is_no_reason_to_end(tmp_path: Path) -> None:
    rotate(tmp_path / "gone")
