"""What many machines rely on: writers that race in a bucket, and a stack that keeps its secrets."""

from __future__ import annotations

from typing import Any

from benchmarks.machines import failover, races, secured_stack


def run(what: str = "races", size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Run one of the benchmarks of many machines: `failover`, `races` or `secured`."""
    return {"failover": failover.run, "races": races.run, "secured": secured_stack.run}[what](size)
