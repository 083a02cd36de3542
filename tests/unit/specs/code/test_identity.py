from __future__ import annotations

import shutil
from pathlib import Path

from sluice.settings import PACKAGE, settings
from sluice.specs.code.identity import pipeline_hash
from sluice.specs.load import load_catalog


def test_what_decodes_in_the_jvm_is_part_of_the_code(tmp_path: Path) -> None:
    catalog = load_catalog(settings().home / "include")
    pipeline = catalog.pipelines["departures"]
    transform = tmp_path / "spark_jobs" / "transforms" / "departures.py"
    package = tmp_path / "site-packages" / "sluice"
    validation = package / "spark" / "records" / "validation.py"
    decoder = package / "jars" / "java" / "sluice" / "decoding" / "Decoder.java"
    files = package / "jars" / "java" / "sluice" / "fs" / "Files.java"
    for file in (transform, validation, decoder, files):
        file.parent.mkdir(parents=True)
        file.write_text("")

    def found() -> str:
        return pipeline_hash(tmp_path, pipeline, {"flights": catalog.topics["flights"]}, package=package)

    before = found()
    files.write_text("class Files {}")
    assert found() == before
    decoder.write_text("class Decoder {}")
    assert found() != before


def test_the_code_is_the_same_wherever_sluice_is_installed(tmp_path: Path) -> None:
    place, catalog = settings(), load_catalog(settings().home / "include")
    pipeline = catalog.pipelines["departures"]
    installed = tmp_path / "site-packages" / "sluice"
    shutil.copytree(PACKAGE, installed, ignore=shutil.ignore_patterns("__pycache__"))
    other = installed.parent / "pyspark" / "__init__.py"
    other.parent.mkdir()
    other.write_text("")

    def found(package: Path) -> str:
        return pipeline_hash(place.home, pipeline, {"flights": catalog.topics["flights"]}, package=package)

    assert found(installed) == found(PACKAGE)
    other.write_text("what lies beside it is not ours")
    assert found(installed) == found(PACKAGE)
