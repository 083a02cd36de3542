"""A small sample of the benchmark `machines`: a secured stack that is heard, and asked by a stranger."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from sluice.settings import settings

pytestmark = [pytest.mark.verify, pytest.mark.timeout(1500)]


def figures_of(what: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return figures and notes of a benchmark, which makes networks of its own: only root can."""
    command = [sys.executable, "-m", "benchmarks", "machines", what, "small"]
    done = subprocess.run(command, cwd=settings().home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    return found["figures"], found["environment"]


def test_a_secured_stack_says_nothing_in_the_clear_and_nothing_to_strangers() -> None:
    figures, notes = figures_of("secured")
    visits = [notes["alone"], notes["clustered"]]
    assert figures["plaintext_bytes"] == 0, [visit["secured"] for visit in visits]
    assert figures["open_routes"] == 0, [visit["found"] for visit in visits]
    assert figures["plaintext_bytes_unsecured"] > 0
    assert figures["planted_found"] is True
    assert figures["routes_asked"] > 100
