"""The archive of classes that `make setup` has made is used."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from sluice.settings import settings
from sluice.spark.session.class_archive import ClassArchive


def test_a_session_maps_the_archive_of_this_installation(spark: SparkSession) -> None:
    archive = ClassArchive(settings().jars / "spark").path
    assert archive.is_file(), "make setup makes it"
    jvm = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
    assert str(archive) in Path(f"/proc/{jvm}/maps").read_text()


def test_an_archive_that_is_there_is_not_made_again_and_one_of_other_jars_is_another(tmp_path: Path) -> None:
    jars = tmp_path / "spark"
    jars.mkdir()
    (jars / "a.jar").write_bytes(b"1")
    archive = ClassArchive(jars)
    first = archive.path
    first.touch()
    assert archive.ensure()
    (jars / "a.jar").write_bytes(b"22")
    assert archive.path != first
    assert archive.path.parent == tmp_path
