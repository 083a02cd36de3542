"""Where chance comes from: numbers that are drawn from a seed, or given, and kept, so that a history can be shrunk.

Zero is the simplest answer to every question (nothing happens, the same one goes on), and what is asked beyond the end
of a given list is answered by zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from time import monotonic
from typing import TypeVar

T = TypeVar("T")

_SHARES = 1_000


class Choices:
    """Answers questions.

    Args:
        source: a seed, or the answers.
    """

    def __init__(self, source: int | Sequence[int]) -> None:
        self.made: list[int] = []
        if isinstance(source, int):
            self._random = Random(source).random
            self.below = self._draw
        else:
            self._given = iter(source)
            self.below = self._replay

    def chance(self, share: float) -> bool:
        """Whether something happens that happens in this share of cases."""
        return self.below(_SHARES) >= _SHARES * (1 - share)

    def pick(self, options: Sequence[T]) -> T:
        """Return one of several."""
        return options[self.below(len(options))]

    def _draw(self, bound: int) -> int:
        answer = int(self._random() * bound)
        self.made.append(answer)
        return answer

    def _replay(self, bound: int) -> int:
        answer = next(self._given, 0) % bound
        self.made.append(answer)
        return answer


def shrink(answers: Sequence[int], fails: Callable[[Sequence[int]], bool], *, seconds: float = 5.0) -> Sequence[int]:
    """Return answers that are fewer and smaller and with which it still fails.

    Args:
        answers: with which it fails.
        fails: whether it fails with other ones.
        seconds: how long to try.
    """
    end = monotonic() + seconds
    best = list(answers)
    size = max(1, len(best) // 2)
    while size and monotonic() < end:
        at, shrunk = 0, False
        while at < len(best) and monotonic() < end:
            for candidate in _simpler(best, at, size):
                if fails(candidate):
                    best, shrunk = candidate, True
                    break
            else:
                at += size
        size = size if shrunk and size == 1 else size // 2
    return best


def _simpler(answers: list[int], at: int, size: int) -> list[list[int]]:
    """Return what is tried in one place: without some answers, or with zeros for them."""
    before, these, after = answers[:at], answers[at : at + size], answers[at + size :]
    return [before + after] + ([[*before, *(0 for _ in these), *after]] if any(these) else [])
