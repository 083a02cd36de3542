"""Signals that ask a command in the foreground to end in order."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ASKING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopping_on_signals() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether SIGINT or SIGTERM came. A second one ends the process at once."""
    asked: list[int] = []
    before = {number: signal.getsignal(number) for number in _ASKING}

    def note(number: int, _frame: FrameType | None) -> None:
        asked.append(number)
        for each in _ASKING:
            signal.signal(each, signal.SIG_DFL)

    for number in _ASKING:
        signal.signal(number, note)
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
