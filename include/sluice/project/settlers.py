"""Where it can be seen how far the settlers of a project are, and what they wait for."""

from __future__ import annotations

from functools import partial

from sluice.settings import StateFolder
from sluice.settling.ports import SettledState
from sluice.settling.rules import SettlingRules
from sluice.settling.state import settled_state
from sluice.settling.status import HeldAdvance, is_decided
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.catalog.streams import raw_stream, settled_stream
from sluice.specs.model.model import PipelineSpec
from sluice.streams.health.observing import SettlerSource
from sluice.streams.life.driver_files import settling_status


def settler_source(catalog: Catalog, folder: StateFolder, stream: str) -> SettlerSource | None:
    """Return where the settler behind a stream is seen; None if the stream settles no table."""
    pipeline = catalog.pipeline_of(stream)
    if pipeline is None or stream != settled_stream(pipeline):
        return None
    status = partial(settling_status, folder.settling_file(stream))
    settling = {each.intervals.table: each.name for each in catalog.pipelines.values() if each.has_intervals}
    tables = (settling[source.table] for source in pipeline.table_sources.values() if source.table in settling)
    upstream = (*map(raw_stream, pipeline.topics), *tables)
    return SettlerSource(pipeline.name, upstream, status, partial(_is_decided, folder, pipeline))


def state_of_log(folder: StateFolder, pipeline: PipelineSpec) -> SettledState:
    """Return what the log of a pipeline's settled table says now.

    Raises:
        CorruptionError: it cannot be read.
    """
    from sluice.delta.log import newest_first  # noqa: PLC0415 - Airflow parses files that read this package

    table = folder.table(pipeline.intervals.table)
    return settled_state(newest_first(table), -1, SettlingRules.by_topic(pipeline))


def _is_decided(folder: StateFolder, pipeline: PipelineSpec, advance: HeldAdvance) -> bool:
    return is_decided(advance, state_of_log(folder, pipeline))
