"""Waiting for a condition, with a deadline and without sleeping for a fixed time."""

from __future__ import annotations

from collections.abc import Callable

from sluice.clock import SystemClock
from sluice.launch.processes import wait_until


def eventually(condition: Callable[[], bool], what: str = "the condition holds", *, seconds: float = 180) -> None:
    """Wait until a condition holds; fail with what it was if it does not in time."""
    assert wait_until(condition, SystemClock(), deadline_seconds=seconds), f"not within {seconds:g} s: {what}"
