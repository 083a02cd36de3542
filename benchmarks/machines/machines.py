"""What many machines rely on: two writers that race in a bucket whose answers are refused, lost and late."""

from __future__ import annotations

from typing import Any

from benchmarks.machines import failover, races


def run(what: str = "races", size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Run one of the benchmarks of many machines: `races`."""
    return {"failover": failover.run, "races": races.run}[what](size)
