"""What identifies a topic: the UUID that the cluster gives it, or, where it gives none, its name.

Kafka gives ids since 2.8, in answers of version 10 and later to a metadata request. An older one, and a service that
speaks an older protocol, has none. Offsets then count in "the topic of this name": that is what can be said, and a
topic that is created again under its name is the same as before to everything that compares ids.
"""

from __future__ import annotations

from uuid import NAMESPACE_URL, UUID, uuid5

_BY_NAME = "by-name-"
_NONE = UUID(int=0)


def identity(topic: str, given: UUID | str | None) -> str:
    """Return what identifies a topic, at most 64 characters without a colon or a plus sign.

    Args:
        topic: its name.
        given: the id that the cluster has answered with; None or the zero UUID: it gives none.
    """
    if given is None or str(given) == str(_NONE):
        return f"{_BY_NAME}{uuid5(NAMESPACE_URL, f'kafka-topic:{topic}')}"
    return str(given)


def is_by_name(topic_id: str) -> bool:
    """Whether an identity stands for a name, because the cluster gave no id."""
    return topic_id.startswith(_BY_NAME)


def gained_ids(before: str, now: str) -> bool:
    """Whether what identifies topics differs because the cluster gave them no ids before, and gives them now.

    Args:
        before: an identity, or several as `sluice.streams.position.epochs.joined_ids` joins them.
        now: the same, later.
    """
    pairs = list(zip(before.split("+"), now.split("+"), strict=False))
    differing = [(old, new) for old, new in pairs if old != new]
    gained = all(is_by_name(old) and not is_by_name(new) for old, new in differing)
    return before.count("+") == now.count("+") and bool(differing) and gained
