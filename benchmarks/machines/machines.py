"""What many machines rely on: writers that race, hosts and containers that fail, another cluster, secrets that stay."""

from __future__ import annotations

from typing import Any

from benchmarks.machines import compose, failover, faults, races, secured_stack

_KINDS = {
    "compose": compose.run,
    "failover": failover.run,
    "faults": faults.run,
    "races": races.run,
    "secured": secured_stack.run,
}


def run(what: str = "races", size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Run one of the benchmarks of many machines: `compose`, `failover`, `faults`, `races` or `secured`."""
    return _KINDS[what](size)
