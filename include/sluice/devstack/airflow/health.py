"""Whether Airflow's components are well, by its own health endpoint."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

_COMPONENTS = {
    "metadatabase": "api-server",
    "scheduler": "scheduler",
    "dag_processor": "dag-processor",
    "triggerer": "triggerer",
}
"""Names in the answer → our components."""

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy cannot reach this machine's loopback


def unhealthy_components(url: str) -> tuple[str, ...]:
    """Return the components that do not say that they are healthy; all wait for the API server."""
    try:
        answer = _get(f"{url}/api/v2/monitor/health")
    except (OSError, ValueError):
        return ("api-server",)
    return tuple(ours for name, ours in _COMPONENTS.items() if (answer.get(name) or {}).get("status") != "healthy")


def has_parsed(url: str) -> bool:
    """Whether any DAG file was read: its DAG, or its error, is there."""
    try:
        return any(_get(f"{url}/api/v2/{what}?limit=1").get("total_entries") for what in ("dags", "importErrors"))
    except (OSError, ValueError):
        return False


def _get(url: str) -> dict[str, Any]:
    with _DIRECT.open(url, timeout=10) as response:
        answer: dict[str, Any] = json.load(response)
    return answer
