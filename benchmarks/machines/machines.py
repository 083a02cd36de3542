"""What many machines rely on: writers that race in a bucket, and a stack that keeps its secrets."""

from __future__ import annotations

from typing import Any

from benchmarks.machines import races, secured_stack


def run(what: str = "races", size: str = "full") -> tuple[dict[str, Any], dict[str, Any]]:
    """Run one of the benchmarks of many machines: `races` or `secured`."""
    return {"races": races.run, "secured": secured_stack.run}[what](size)
