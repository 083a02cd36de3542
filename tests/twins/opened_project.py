"""What Airflow's tasks open in a test."""

from __future__ import annotations

from contextlib import AbstractContextManager
from unittest.mock import patch

from sluice.airflow import runtime


def opened_project(project: object) -> AbstractContextManager[object]:
    """Have tasks and triggers open this project inside the block."""
    return patch.object(runtime, "open_project", lambda: project)
