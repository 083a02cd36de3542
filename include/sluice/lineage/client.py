"""OpenLineage's client, as the project configures it. Imported only by the thread that sends."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import yaml
from openlineage.client import OpenLineageClient

from sluice.errors import NotReadyError, SpecError


class Client(OpenLineageClient):
    """The client, which configures itself. The repository that it names carries no login."""

    def add_source_code_location_facet(self, event: Any) -> Any:  # noqa: ANN401 - any of the client's events
        """Add the repository's address, without user and password."""
        event = super().add_source_code_location_facet(event)
        if (facet := (event.job.facets or {}).get("sourceCodeLocation")) is not None:
            facet.url = _without_login(facet.url)
            facet.repoUrl = None if facet.repoUrl is None else _without_login(facet.repoUrl)
        return event


def connect(file: Path | None) -> Client:
    """Return the configured client.

    Args:
        file: the project's `openlineage.yml`; None if there is none. It takes precedence over the client's own search.

    Raises:
        NotReadyError: there is a configuration, and it names no transport.
        SpecError: the file is no mapping.
        Exception: any other error of the client about its configuration.
    """
    client = Client(config=None if file is None else _read(file))
    named = str((client.config.transport or {}).get("type", ""))
    if client.transport.kind == "console" and named != "console":  # its default without a configuration
        raise NotReadyError("no transport is configured.", fix="name one, or set OPENLINEAGE_DISABLED=true.")
    return client


def _read(file: Path) -> dict[str, Any]:
    parsed = yaml.safe_load(file.read_text(encoding="utf-8"))
    if not isinstance(parsed, dict):
        raise SpecError(f"{file} holds no mapping.", fix="write `transport:` and what belongs below it.")
    return parsed


def _without_login(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])) if parts.scheme else url
