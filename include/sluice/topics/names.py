"""Names of topics: which are Kafka's own, and what was meant by one that there is not."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from sluice.errors import SpecError
from sluice.wording import listed

_INTERNAL = "__"


def is_internal(topic: str) -> bool:
    """Whether a topic is Kafka's own, or that of a program beside it: no user writes to it."""
    return topic.startswith(_INTERNAL)


def unknown_topic(topic: str, known: Iterable[str]) -> SpecError:
    """Return what is said of a topic that the cluster does not have."""
    return SpecError(f"The cluster has no topic {topic!r}.", fix=near(topic, known))


def near(topic: str, known: Iterable[str]) -> str:
    """Return which topics may have been meant: those that resemble it, or some of all."""
    names = sorted(name for name in known if not is_internal(name))
    if close := get_close_matches(topic, names, n=3):
        return f"did you mean {' or '.join(map(repr, close))}?"
    return (
        f"there are {listed(names, 5)}." if names else "it has none but its own; create one by `sluice topics apply`."
    )
