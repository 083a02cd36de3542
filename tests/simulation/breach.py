"""What a simulation ends with if the code under test does what it must never do."""

from __future__ import annotations


class BreachError(AssertionError):
    """Something happened that must never happen."""
