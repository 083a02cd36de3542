"""Rules about suites, and which pipelines a broken one leaves without a gate that can be trusted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from sluice.specs.reading.faults import Fault
from sluice.specs.reading.kinds import Key, Kind
from sluice.specs.reading.reading import Finding, Reading


def suites_guard_pipelines(reading: Reading) -> Iterator[Finding]:
    """A suite names a pipeline that has a spec, sound or broken, and no two suites name the same."""
    suites: dict[str, list[str]] = defaultdict(list)
    for named in reading.references(Kind.SUITE, ("pipeline",)):
        name, pipeline = named.owner[1], named.name
        suites[pipeline].append(name)
        if (Kind.PIPELINE, pipeline) not in reading.documents:
            yield reading.finding(Kind.SUITE, name, ("pipeline",), *reading.absent(Kind.PIPELINE, pipeline))
        guarded = reading.catalog.pipelines.get(pipeline)
        rows = reading.catalog.expectations.get(name)
        judges_rows = rows is None or rows.gate is not None
        if guarded is not None and not guarded.has_intervals and judges_rows:
            message = f"the pipeline {pipeline!r} has no `intervals` output, so nothing is published through a gate."
            fix = "say `on: [record]`, or add such an output."
            yield reading.finding(Kind.SUITE, name, ("pipeline",), message, fix)
    for pipeline, names in suites.items():
        for name in names if len(names) > 1 else ():
            others = ", ".join(other for other in names if other != name)
            message = f"the pipeline {pipeline!r} is also guarded by {others}."
            yield reading.finding(Kind.SUITE, name, ("pipeline",), message, "put all its expectations into one file.")


def doubtful_suites(reading: Reading, broken: Collection[Key], strays: Iterable[Fault]) -> dict[str, str | None]:
    """Return the suites that cannot be used, with the pipeline that each guards; None where that is not certain."""
    references = {named.owner: named.name for named in reading.references(Kind.SUITE, ("pipeline",))}
    folder = reading.file(reading.include / Kind.SUITE.folder)
    doubtful: dict[str, str | None] = {fault.file: None for fault in strays if fault.file.startswith(f"{folder}/")}
    for key in broken:
        if key[0] is Kind.SUITE:
            pipeline = references.get(key)
            exists = (Kind.PIPELINE, pipeline) in reading.documents
            doubtful[reading.documents[key].file] = pipeline if exists else None
    return doubtful
