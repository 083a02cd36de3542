"""The name under which a stream writes: one of stream, topic id and reset epoch, so it outlives checkpoints."""

from __future__ import annotations


def writer_id(stream: str, topic_id: str, epoch: int = 0) -> str:
    """Return the name of a stream's commits in an epoch; what they cover is of this name only."""
    return f"{stream}:{topic_id}:{epoch}"


def of_all_epochs(writer: str) -> str:
    """Return the name that a stream has in every epoch, which is the first one's: generations are marked under it.

    An attempt of an older epoch must be fenced by one of a newer, and the other way round.
    """
    return f"{writer.rpartition(':')[0]}:0"


def count_alike(one: str, other: str) -> bool:
    """Whether the offsets of two writers count in the same topic, read by the same stream in whichever epochs."""
    return of_all_epochs(one) == of_all_epochs(other)


def topic_of(writer: str) -> str:
    """Return the id of the topic in which a writer's offsets count."""
    return writer.rpartition(":")[0].partition(":")[2]
