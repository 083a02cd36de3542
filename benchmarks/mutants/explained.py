"""Mutants that survive with a reason: `equivalent.yaml`, which goes stale with the code that it is about."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import yaml

from benchmarks.trials import TrialError

FILE = Path(__file__).with_name("equivalent.yaml")


def explained() -> dict[tuple[str, str, str], str]:
    """Return the reason of each mutant that changes nothing that a test should see, by module, function and change.

    Raises:
        TrialError: an entry lacks its reason, or two are about the same mutant.
    """
    entries: list[dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8")) or []
    reasons: dict[tuple[str, str, str], str] = {}
    for entry in entries:
        key = entry["module"], entry["function"], entry["change"].strip()
        if key in reasons:
            raise TrialError(f"{FILE.name} explains the same mutant twice: {' '.join(key)}")
        if not entry.get("reason"):
            raise TrialError(f"{FILE.name} has an entry without a reason: {' '.join(key)}")
        reasons[key] = entry["reason"]
    return reasons


def refuse_stale(reasons: Collection[tuple[str, str, str]], known: Collection[tuple[str, str, str]]) -> None:
    """Refuse reasons for mutants that cannot be made of the code as it is.

    Raises:
        TrialError: there is one.
    """
    stale = [key for key in reasons if key not in known]
    if stale:
        module, function, change = stale[0]
        raise TrialError(
            f"{FILE.name} explains {len(stale)} mutants that are none any more, first: {module} {function}\n{change}\n"
            f"The code there has changed: judge it again, and remove or replace the entry."
        )
