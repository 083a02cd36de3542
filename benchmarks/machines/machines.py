"""What many machines rely on: writers that race in a bucket with faults, and containers that die."""

from __future__ import annotations

from typing import Any

from benchmarks.machines import compose, races


def run(what: str = "races", size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Run one of the benchmarks of many machines: `compose` or `races`."""
    return {"compose": compose.run, "races": races.run}[what](size)
