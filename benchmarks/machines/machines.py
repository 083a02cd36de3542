"""What many machines rely on: writers that race, containers that die, another cluster, and connections nobody reads."""

from __future__ import annotations

from typing import Any

from benchmarks.machines import compose, failover, races, secured_stack

_KINDS = {"compose": compose.run, "failover": failover.run, "races": races.run, "secured": secured_stack.run}


def run(what: str = "races", size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Run one of the benchmarks of many machines: `compose`, `failover`, `races` or `secured`."""
    return _KINDS[what](size)
