"""Rules about pages of newest values: what their panels name is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.pages import PanelSpec
from sluice.specs.reading.diagnosis import nearest
from sluice.specs.reading.faults import SpecFaults
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading, SpecMisfit
from sluice.specs.rules.output_rules import live_outputs

RESERVED = ("api", "static")
"""Addresses of `sluice serve` itself, which no page of a pipeline can have."""


def pages_show_live_outputs(reading: Reading) -> Iterator[Finding]:
    """A panel is about a `latest` or `topic` output of its pipeline, names its columns, and has a title of its own."""
    for name, pipeline in reading.catalog.pipelines.items():
        if pipeline.page is None:
            continue
        if name in RESERVED:
            message = f"the page would lie at /{name}, which is an address of `sluice serve` itself."
            yield reading.finding(Kind.PIPELINE, name, ("page",), message, "rename the pipeline.")
        columns = _columns(pipeline, reading)
        for place, panel in enumerate(pipeline.page.panels):
            titles = [each.title for each in pipeline.page.panels[:place]]
            for loc, message, fix in _misfits(panel, pipeline, titles, columns):
                yield reading.finding(Kind.PIPELINE, name, ("page", "panels", place, *loc), message, fix)


def _misfits(
    panel: PanelSpec, pipeline: PipelineSpec, titles: Sequence[str], columns: Sequence[str]
) -> Iterator[SpecMisfit]:
    live = live_outputs(pipeline)
    if panel.title in titles:
        yield ("title",), f"two panels are called {panel.title!r}.", "rename one of them."
    if panel.output not in live:
        message = f"{panel.output!r} is no `latest` or `topic` output of this pipeline."
        yield ("output",), message, nearest(panel.output, live) or "add an output of the kind `latest`."
    named = panel.reads | {("where", column): column for column in panel.where}
    for loc, column in named.items() if columns else ():
        if column not in columns:
            message = f"{pipeline.transform} makes no column {column!r}."
            yield loc, message, nearest(column, columns)


def _columns(pipeline: PipelineSpec, reading: Reading) -> tuple[str, ...]:
    """Return the columns of the outputs; none where only Spark knows them: a function may make any."""
    path = reading.transforms / pipeline.transform_file
    if not pipeline.is_sql or not path.is_file():
        return ()
    from sluice.specs.code.select import Select  # noqa: PLC0415 - sqlglot is slow to import

    try:
        return Select.read(path).columns
    except SpecFaults:  # a fault of its own
        return ()
