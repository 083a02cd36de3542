"""The name of an attempt, for launchers.

It is a function of deployment, unit and generation alone, so a process that restarts after a crash can compute it.
"""

from __future__ import annotations

import re

_NAME = r"[a-z][a-z0-9_]{0,62}"  # the specs' names: no dot, so the key's parts cannot run into each other
_FORM = re.compile(rf"({_NAME})\.({_NAME})\.g([1-9][0-9]*)")


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
