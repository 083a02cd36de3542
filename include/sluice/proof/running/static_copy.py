"""The static inputs of a proof: files as they are, and of tables what they hold when the proof begins."""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath
from typing import Any

from pyarrow import parquet

from sluice.project.project import Project
from sluice.specs.code.static import locate
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.sources import StaticFormat, StaticInput
from sluice.static.reading import read_static_input

_FOLDER = "static_of_the_proof"


def copy_static(project: Project, spec: PipelineSpec, include: Path) -> dict[str, dict[str, Any]]:
    """Copy what a pipeline joins, and return how the copy declares it, by name.

    A file is copied as it is, so that it is read as in the deployment. A table of the project is not in the copy, and a
    database is the deployment's own: of both the rows are kept in a file, and nothing of them is asked later.

    Args:
        project: the deployment's own.
        spec: of the pipeline.
        include: the folder of the copy's specs.

    Raises:
        SluiceError: one cannot be read, see `sluice.static.reading.content_of`.
    """
    return {name: _copied(project, name, static, include) for name, static in spec.static.items()}


def _copied(project: Project, name: str, static: StaticInput, include: Path) -> dict[str, Any]:
    declared = static.model_dump(mode="json", exclude_defaults=True)
    if static.package is not None:
        return declared
    if static.path is not None:
        _copy(locate(static, project.static_places.include), include / PurePosixPath(static.path))
        return declared
    file = f"{_FOLDER}/{name}.parquet"
    (include / _FOLDER).mkdir(exist_ok=True)
    parquet.write_table(read_static_input(static, project.static_places), include / file)
    elsewhere = ("connection", "table", "query", "format")
    own = {key: value for key, value in declared.items() if key not in elsewhere}
    return {**own, "path": file, "format": StaticFormat.PARQUET.value}


def _copy(there: Path, here: Path) -> None:
    if here.exists():  # two inputs may read one file
        return
    here.parent.mkdir(parents=True, exist_ok=True)
    if there.is_dir():
        shutil.copytree(there, here)
    else:
        shutil.copy2(there, here)
