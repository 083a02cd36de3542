"""The identity of "the same code", and the archive that carries it to executors.

Two results may be compared row by row only where this identity is the same. It is built from what the code is, not
from a declared version: the bytes of every module that the transform reaches, the parts of the specs
that change results, and the digests of the static inputs.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sluice.disk import replacing
from sluice.specs.code.modules import Modules
from sluice.specs.expectations.model import Expectation, Severity
from sluice.specs.model.model import PipelineSpec, TopicSpec
from sluice.specs.model.outputs import IntervalsOutput
from sluice.specs.model.sources import SourceSpec, StaticInput, TableSource

_TIMES_WITHOUT_MEANING = {"watermark_delay", "arrival_disorder", "max_advance", "idle"}
"""How long is waited for records changes no result; the watermark delay in force is said beside them."""

_WITHOUT_MEANING: dict[str, bool | set[str]] = {
    "name": True,
    "description": True,
    "owner": True,
    "driver": True,
    "lane": True,
    "trigger": True,
    "resources": True,
    "deadlines": True,
    "objective": True,
    "prove": True,
    "alerts": True,
    "page": True,
    "backfill": True,
    "max_records_per_batch": True,
    "start": True,  # which records a state knows is said by each commit, of which the code knows nothing
    "mirror_group": True,
    "schedule": True,
    "stop_when_idle": True,
    "circuit_breaker": True,  # a batch is committed as it is, or not at all
    "time": _TIMES_WITHOUT_MEANING,
    "static": True,  # each is said below
    "sources": True,  # each is said with its topic
    "output": True,
    "outputs": True,
}
"""Keys of a pipeline that change no result. Whatever is not named here counts, so a new key is never forgotten.

Of the outputs only the interval table's windows count: what else is delivered is never compared.
"""

_NO_WINDOWS: Mapping[str, Any] = {"table": True, "objective": True, "keys": True, "carries": {"__all__": {"keep"}}}
_UNLESS_OMITTED = {"lookback", "lookahead", "since_column", "scope", "where", "carries"}
"""Of the interval table. What was computed before these keys existed is not stale for their sake."""

_SHORT_FORM = {"source": True, "time": True}
"""Keys of a pipeline that there are only where it has no `sources`."""
_UNLESS_OMITTED_OF_SOURCE = {"lookback", "lookahead", "columns"}

_WITHOUT_MEANING_OF_VALUE: dict[str, bool | dict[str, set[str]]] = {
    "event_id": True,
    "compatibility": True,
    "patches": {"__all__": {"why"}},
}
"""Of a topic's value: duplicates are counted and stay good, and a contract is between people."""

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip entry can carry."""


def import_closure(entry: Path, roots: Sequence[Path]) -> tuple[Path, ...]:
    """Return the modules below `roots` that importing `entry` can execute, itself included, sorted: `closure_of`."""
    return closure_of([entry], roots)


def closure_of(entries: Iterable[Path], roots: Sequence[Path]) -> tuple[Path, ...]:
    """Return the modules below `roots` that importing `entries` can execute, themselves included, sorted.

    Found by reading, not by importing. Names that are computed at run time stay unseen; `sluice check` refuses those.
    What is no module, such as a SELECT, imports nothing.

    Raises:
        SpecFaults: a module is not Python.
    """
    modules, closure = Modules(roots), set[Path]()
    waiting = list(entries)
    while waiting:
        path = waiting.pop()
        if path not in closure:
            closure.add(path)
            if path.suffix == ".py":
                waiting.extend(modules.imported_by(path))
    return tuple(sorted(closure))


def meaning(
    pipeline: PipelineSpec, topics: Mapping[str, TopicSpec], expected: Sequence[Expectation] = ()
) -> dict[str, object]:
    """Return what the specs say about results, as JSON values: how to read a record and what to make of it.

    Spark settings count: some change results, and there is no full list of them.

    Args:
        pipeline: its spec.
        topics: the spec of each source's topic, by the source's name.
        expected: what must hold for records, of all sources.
    """
    exclude = {**_WITHOUT_MEANING, **(_SHORT_FORM if pipeline.sources else {})}
    intervals = _windows(pipeline.intervals) if pipeline.has_intervals else None
    judged = [_asked(each, pipeline) for each in expected if each.severity is Severity.CRITICAL]
    return {
        **({"expected": judged} if judged else {}),
        "pipeline": {
            **pipeline.model_dump(mode="json", exclude=exclude),
            "static": {name: _table(static) for name, static in pipeline.static.items()},
            "output": intervals,
        },
        **_read(pipeline, topics),
    }


def _read(pipeline: PipelineSpec, topics: Mapping[str, TopicSpec]) -> dict[str, object]:
    """Return how records are read.

    Of a settled table its name is said, and not the code that makes its rows: a change of them is found by what they
    are. Of the short form it says the same as before there were `sources`: what was computed then is not stale.
    """
    read = {
        name: {
            "watermark_delay_seconds": int(source.time.delay.total_seconds()),
            "value": topics[name].value.model_dump(mode="json", exclude=_WITHOUT_MEANING_OF_VALUE),
        }
        for name, source in pipeline.topic_sources.items()
    }
    if pipeline.sources:
        each = pipeline.sources.items()
        return {"sources": {name: {**_declared(source), **read.get(name, {})} for name, source in each}}
    (only,) = read.values()
    return only


def _declared(source: SourceSpec | TableSource) -> dict[str, object]:
    written = source.model_dump(mode="json", exclude={"time": _TIMES_WITHOUT_MEANING})
    omitted = _UNLESS_OMITTED_OF_SOURCE - source.model_dump(exclude_defaults=True).keys()
    return {key: value for key, value in written.items() if key not in omitted}


def _table(static: StaticInput) -> dict[str, object]:
    return {**static.meant, "columns": {name: kind.value for name, kind in static.columns.items()}}


def _asked(expectation: Expectation, pipeline: PipelineSpec) -> tuple[object, ...]:
    asked = (expectation.expect, expectation.kwargs)
    return (*asked, expectation.source) if pipeline.sources else asked


def _windows(output: IntervalsOutput) -> dict[str, object]:
    written = output.model_dump(mode="json", exclude=_NO_WINDOWS)
    omitted = _UNLESS_OMITTED - output.model_dump(exclude_defaults=True).keys()
    return {key: value for key, value in written.items() if key not in omitted}


def build_archive(files: Iterable[tuple[str, bytes]], folder: Path) -> Path:
    """Write modules as a zip that executors import from, and return it.

    The file is named by its content: the same modules give the same bytes under the same name, and a driver that runs
    on older code keeps its own archive.

    Args:
        files: path inside the archive (`package/module.py`) and content, in any order.
        folder: created where it does not exist.
    """
    modules = sorted(files)
    digest = hashlib.sha256()
    for name, content in modules:
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    target = folder / f"sluice-{digest.hexdigest()[:16]}.zip"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _write_zip(modules, target)
    return target


def _write_zip(modules: Iterable[tuple[str, bytes]], target: Path) -> None:
    with replacing(target) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED) as archive:
        for name, content in modules:
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.external_attr = 0o644 << 16
            entry.create_system = 3  # Unix, on every machine
            archive.writestr(entry, content)
