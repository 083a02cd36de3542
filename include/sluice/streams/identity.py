"""Names that outlive processes: of an attempt, for launchers, and of a stream, for the tables that it writes.

The submission key is a function of deployment, unit and generation alone, so whoever comes back after a crash can
compute it and ask. The writer's id is one of stream, topic id and reset epoch, so it outlives checkpoints.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = r"[a-z][a-z0-9_]{0,62}"  # the specs' names: no dot, so the key's parts cannot run into each other
_FORM = re.compile(rf"({_NAME})\.({_NAME})\.g([1-9][0-9]*)")


@dataclass(frozen=True)
class Submission:
    """What a key stands for."""

    deployment: str
    unit: str
    generation: int


def submission_key(deployment: str, unit: str, generation: int) -> str:
    """Return `<deployment>.<unit>.g<generation>`, safe as a file, process and job name.

    Raises:
        ValueError: a part is no name, or the generation is below 1.
    """
    key = f"{deployment}.{unit}.g{generation}"
    if _FORM.fullmatch(key) is None:
        raise ValueError(
            f"{key!r} is no submission key; it takes two names (lower case, digits, _) and a number from 1"
        )
    return key


def parse_submission_key(key: str) -> Submission:
    """Return what `submission_key` put together.

    Raises:
        ValueError: the text is no submission key.
    """
    match = _FORM.fullmatch(key)
    if match is None:
        raise ValueError(f"{key!r} is no submission key such as 'local.flights.g3'")
    return Submission(match[1], match[2], int(match[3]))


def writer_id(stream: str, topic_id: str, epoch: int = 0) -> str:
    """Return the name under which a stream writes: its commits, and what they cover, are of this name only."""
    return f"{stream}:{topic_id}:{epoch}"


def of_all_epochs(writer: str) -> str:
    """Return the name that a stream has in every epoch, which is the first one's: generations are marked under it.

    An attempt of an older epoch must be fenced by one of a newer, and the other way round.
    """
    return f"{writer.rpartition(':')[0]}:0"
