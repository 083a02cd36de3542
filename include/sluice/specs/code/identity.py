"""What a pipeline's code is today, and its hash: computed from files, so that a comparison needs no Spark."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from sluice.settings import PACKAGE
from sluice.specs.code.closure import closure_of, meaning
from sluice.specs.code.parts import CodeParts
from sluice.specs.code.static import locate
from sluice.specs.expectations.model import Expectation
from sluice.specs.model.model import PipelineSpec, TopicSpec


def pipeline_hash(
    home: Path,
    pipeline: PipelineSpec,
    topics: Mapping[str, TopicSpec],
    expected: Sequence[Expectation] = (),
    *,
    package: Path = PACKAGE,
) -> str:
    """Return the hash that names a pipeline's code; the arguments are those of `pipeline_parts`."""
    return pipeline_parts(home, pipeline, topics, expected, package=package).hash


def pipeline_parts(
    home: Path,
    pipeline: PipelineSpec,
    topics: Mapping[str, TopicSpec],
    expected: Sequence[Expectation] = (),
    *,
    package: Path = PACKAGE,
) -> CodeParts:
    """Return the transform's import closure, validation's and its decoder's, the specs' meaning, the static inputs.

    Args:
        home: the project.
        pipeline: its spec.
        topics: the spec of each source's topic, by the source's name.
        expected: what must hold for records, of all sources.
        package: Sluice, as it is installed: the parts are the same wherever that is.

    Raises:
        SpecError: a static input is not there.
        SpecFaults: a module is not Python.
    """
    transform = home / "spark_jobs" / "transforms" / pipeline.transform_file
    entries = (transform, package / "spark" / "records" / "validation.py")
    roots = (package, home / "spark_jobs", home / "include")
    closure = set(closure_of(entries, roots))
    closure.update((package / "jars" / "java" / "sluice" / "decoding").glob("*.java"))
    fixed = {name: wanted for name, wanted in pipeline.static.items() if wanted.reload is None}
    static = {name: digest(locate(wanted, home / "include")) for name, wanted in fixed.items()}
    return CodeParts.of(
        ((_name(path, home, package), path.read_bytes()) for path in closure),
        meaning(pipeline, topics, expected),
        static,
    )


def _name(path: Path, home: Path, package: Path) -> str:
    return str(path.relative_to(package.parent if path.is_relative_to(package) else home))


def digest(path: Path) -> str:
    """Return the sha256 of a static input: part of the code's identity. Of a folder: of all files in it."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    found = hashlib.sha256()
    for file in sorted(each for each in path.rglob("*") if each.is_file()):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        found.update(f"{file.relative_to(path).as_posix()}\0{content}\n".encode())
    return found.hexdigest()
