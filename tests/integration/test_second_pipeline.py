"""The pipeline of the how-to page, as far as it needs neither Kafka nor Airflow: checked, and tried on records."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.walkthrough import HOME, Command, File, Reader, steps

SECTION = "Write it, try it, start it"


@pytest.mark.verify
def test_the_text_adds_a_pipeline_that_is_sound_and_does_what_it_shows(tmp_path: Path) -> None:
    reader = Reader.in_copy(tmp_path / "project")
    *files, trial, _start, _result = steps(HOME / "docs" / "how-to" / "add-a-pipeline.md", SECTION)
    assert [file.path for file in files if isinstance(file, File)] == [
        "spark_jobs/transforms/routes.py",
        "include/pipelines/routes.yaml",
        "include/expectations/routes.yaml",
    ]
    for file in files:
        assert isinstance(file, File)
        reader.write(file)
    assert isinstance(trial, tuple)
    reader.follow(trial)


def test_what_a_command_prints_must_be_what_the_text_says() -> None:
    command = Command("x", "started, because …\nall … done   \n")
    assert command.agrees("started, because it was dead\nall 7\nand 8 done\n")
    assert not command.agrees("started, because it was dead\nall done\n")
    assert not command.agrees("started, because it was dead\nall 7 done\nand more\n")
