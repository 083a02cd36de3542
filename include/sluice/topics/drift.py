"""Whether every declared topic is as declared, as JSON values and as lines. Pure."""

from __future__ import annotations

from typing import Any

from sluice.topics.changes import Item, Refused, sentence
from sluice.topics.plan import Plan


def differences(found: Plan) -> tuple[Item | Refused, ...]:
    """Return what differs, ordered by topic and value: what a plan would change, and what no plan does."""
    return tuple(sorted((*found.items, *found.refused), key=lambda each: (each.topic, each.value)))


def as_dict(found: Plan) -> list[dict[str, Any]]:
    """Return the differences as JSON values; `risk` is `refused` where no plan makes it as declared."""
    return [
        {
            "topic": each.topic,
            "value": each.value,
            "current": each.current,
            "wanted": each.wanted,
            "risk": "refused" if isinstance(each, Refused) else each.risk.value,
            "why": each.why,
        }
        for each in differences(found)
    ]


def lines(found: Plan) -> list[str]:
    """Return one line per difference."""
    return [sentence(each) for each in differences(found)]
