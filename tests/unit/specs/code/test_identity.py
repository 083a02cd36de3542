from __future__ import annotations

from pathlib import Path

from sluice.settings import settings
from sluice.specs.code.identity import pipeline_hash
from sluice.specs.load import load_catalog


def test_what_decodes_in_the_jvm_is_part_of_the_code(tmp_path: Path) -> None:
    catalog = load_catalog(settings().home / "include")
    pipeline = catalog.pipelines["departures"]
    transform = tmp_path / "spark_jobs" / "transforms" / "departures.py"
    validation = tmp_path / "include" / "sluice" / "spark" / "records" / "validation.py"
    decoder = tmp_path / "jars" / "java" / "sluice" / "decoding" / "Decoder.java"
    files = tmp_path / "jars" / "java" / "sluice" / "fs" / "Files.java"
    for file in (transform, validation, decoder, files):
        file.parent.mkdir(parents=True)
        file.write_text("")

    def found() -> str:
        return pipeline_hash(tmp_path, pipeline, catalog.topics[pipeline.source])

    before = found()
    files.write_text("class Files {}")
    assert found() == before
    decoder.write_text("class Decoder {}")
    assert found() != before
