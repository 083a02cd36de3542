"""What a visitor may ask for: the port to whoever carries it out. Nothing is carried out by the console itself."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol


class ConsoleCommand(StrEnum):
    """What may be asked of a unit; the words of the form of its DAG."""

    START = "start"
    STOP = "stop"
    RESTART = "restart"
    RESUME = "resume"


class DagRunner(Protocol):
    """Starts runs of DAGs on behalf of visitors."""

    def run(self, dag_id: str, form: Mapping[str, Any], *, by: str) -> str:
        """Start a run with a filled form, and return its id.

        Raises:
            RefusedError: there is no such DAG, or it does not take this form.
        """
        ...
