from __future__ import annotations

import pytest

from sluice.contracts.compatibility import Compatibility


@pytest.mark.parametrize(
    ("kind", "pairs"),
    [
        (Compatibility.BACKWARD_TRANSITIVE, {(0, 2), (1, 2)}),
        (Compatibility.FORWARD_TRANSITIVE, {(2, 0), (2, 1)}),
        (Compatibility.FULL_TRANSITIVE, {(0, 2), (1, 2), (2, 0), (2, 1)}),
        (Compatibility.BACKWARD, {(1, 2)}),
        (Compatibility.FORWARD, {(2, 1)}),
        (Compatibility.FULL, {(1, 2), (2, 1)}),
        (Compatibility.NONE, set()),
    ],
)
def test_the_newest_version_is_compared_with_those_before_it(kind: Compatibility, pairs: set[tuple[int, int]]) -> None:
    assert set(kind.pairs(3)) == pairs
    assert list(kind.pairs(1)) == list(kind.pairs(0)) == []
