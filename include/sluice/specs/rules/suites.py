"""Rules about suites, and which pipelines a broken one leaves without a gate that can be trusted."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from sluice.contracts.breach import Loc
from sluice.specs.model.spec import NAME_PATTERN
from sluice.specs.reading.diagnosis import nearest
from sluice.specs.reading.faults import Fault
from sluice.specs.reading.kinds import Key, Kind
from sluice.specs.reading.reading import Finding, Reading


def suite_references(reading: Reading) -> dict[Key, tuple[Loc, str]]:
    """Return which suite names which pipeline, and where: from its text, so that other faults in it hide none here."""
    named = ((key, (doc.data or {}).get("pipeline")) for key, doc in reading.documents.items() if key[0] is Kind.SUITE)
    return {
        key: (("pipeline",), pipeline)
        for key, pipeline in named
        if isinstance(pipeline, str) and re.match(NAME_PATTERN, pipeline)  # what is no name is a fault of its own
    }


def suites_guard_pipelines(reading: Reading) -> Iterator[Finding]:
    """A suite names a pipeline that has a spec, sound or broken, and no two suites name the same."""
    pipelines = _pipelines(reading)
    suites: dict[str, list[str]] = defaultdict(list)
    for (_, name), (loc, pipeline) in suite_references(reading).items():
        suites[pipeline].append(name)
        if pipeline not in pipelines:
            message = f"there is no pipeline {pipeline!r} in include/pipelines."
            yield reading.finding(Kind.SUITE, name, loc, message, nearest(pipeline, pipelines))
        guarded = reading.catalog.pipelines.get(pipeline)
        rows = reading.catalog.expectations.get(name)
        judges_rows = rows is None or rows.gate is not None
        if guarded is not None and not guarded.has_intervals and judges_rows:
            message = f"the pipeline {pipeline!r} has no `intervals` output, so nothing is published through a gate."
            yield reading.finding(Kind.SUITE, name, loc, message, "say `on: [record]`, or add such an output.")
    for pipeline, names in suites.items():
        for name in names if len(names) > 1 else ():
            others = ", ".join(other for other in names if other != name)
            message = f"the pipeline {pipeline!r} is also guarded by {others}."
            yield reading.finding(Kind.SUITE, name, ("pipeline",), message, "put all its expectations into one file.")


def doubtful_suites(reading: Reading, broken: Collection[Key], strays: Iterable[Fault]) -> dict[str, str | None]:
    """Return the suites that cannot be used, with the pipeline that each guards; None where that is not certain."""
    references, pipelines = suite_references(reading), _pipelines(reading)
    folder = reading.file(reading.include / Kind.SUITE.folder)
    doubtful: dict[str, str | None] = {fault.file: None for fault in strays if fault.file.startswith(f"{folder}/")}
    for key in broken:
        if key[0] is Kind.SUITE:
            _, pipeline = references.get(key, ((), None))
            doubtful[reading.documents[key].file] = pipeline if pipeline in pipelines else None
    return doubtful


def _pipelines(reading: Reading) -> Collection[str]:
    return dict.fromkeys(name for kind, name in reading.documents if kind is Kind.PIPELINE)
