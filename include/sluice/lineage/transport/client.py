"""OpenLineage's own client, from events of ours to its transports. Imported only by the thread that sends."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

import yaml
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState

from sluice.errors import NotReadyError, SpecError
from sluice.lineage.event import PRODUCER, Event, facets_as_dict, instant


class Client(OpenLineageClient):
    """The client, which configures itself; what it adds of the repository carries no login."""

    def add_source_code_location_facet(self, event: Any) -> Any:  # noqa: ANN401 - any of the client's events
        """Add where the code is, without what stands before the host's name."""
        event = super().add_source_code_location_facet(event)
        if (facet := (event.job.facets or {}).get("sourceCodeLocation")) is not None:
            facet.url = _without_login(facet.url)
            facet.repoUrl = None if facet.repoUrl is None else _without_login(facet.repoUrl)
        return event


def connect(file: Path | None) -> Client:
    """Return the client as it is configured.

    Args:
        file: the project's `openlineage.yml`; None if there is none. It wins over what the client finds itself.

    Raises:
        NotReadyError: there is a configuration, and it names no transport.
        SpecError: the file is no mapping.
        Exception: whatever else the client says against its configuration.
    """
    client = Client(config=None if file is None else _read(file))
    named = str((client.config.transport or {}).get("type", ""))
    if client.transport.kind == "console" and named != "console":  # what it does when it is told nothing
        raise NotReadyError("no transport is configured.", fix="name one, or set OPENLINEAGE_DISABLED=true.")
    return client


def _read(file: Path) -> dict[str, Any]:
    found = yaml.safe_load(file.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise SpecError(f"{file} holds no mapping.", fix="write `transport:` and what belongs below it.")
    return found


def as_run_event(event: Event) -> RunEvent:
    """Return an event as the client takes it. Facets stay what they are: the client sends them as they stand."""
    return RunEvent(
        eventType=RunState[event.type.value],
        eventTime=instant(event.at),
        producer=PRODUCER,
        run=Run(str(event.run), _facets(event.as_dict()["run"]["facets"])),
        job=Job(event.job.namespace, event.job.name, _facets(facets_as_dict(event.job.facets))),
        inputs=[
            InputDataset(
                each.namespace,
                each.name,
                facets=_facets(facets_as_dict(each.facets)),
                inputFacets=_facets(facets_as_dict(each.use)),
            )
            for each in event.inputs
        ],
        outputs=[
            OutputDataset(
                each.namespace,
                each.name,
                facets=_facets(facets_as_dict(each.facets)),
                outputFacets=_facets(facets_as_dict(each.use)),
            )
            for each in event.outputs
        ],
    )


def _facets(facets: Mapping[str, Any]) -> dict[str, Any]:
    return cast(dict[str, Any], facets)


def _without_login(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])) if parts.scheme else url
