"""What every KeyReader does. Subclasses give it, and `fill`."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import TypeAlias

import pytest

from sluice.errors import RefusedError
from sluice.provisioning.growth.keys import KeyReader

Fill: TypeAlias = Callable[[str, Sequence[Sequence[bytes | None]]], None]
"""Makes a topic whose partitions hold records with these keys."""


class KeyReaderSuite:
    @pytest.fixture
    def name(self) -> str:
        return f"topic_{uuid.uuid4().hex[:12]}"

    def test_the_newest_keys_come_in_their_order_with_what_each_partition_holds(
        self, reader: KeyReader, name: str, fill: Fill
    ) -> None:
        fill(name, [[b"a", b"b", b"c"], [b"d"]])
        sample = reader.newest_keys(name, 2)
        assert {p: list(keys) for p, keys in sample.keys.items()} == {0: [b"b", b"c"], 1: [b"d"]}
        assert dict(sample.held) == {0: 3, 1: 1}

    def test_a_record_without_a_key_is_told_from_one_with_an_empty_key(
        self, reader: KeyReader, name: str, fill: Fill
    ) -> None:
        fill(name, [[None, b"", b"a"]])
        assert list(reader.newest_keys(name, 10).keys[0]) == [None, b"", b"a"]

    def test_an_empty_partition_has_no_keys_and_does_not_keep_anybody_waiting(
        self, reader: KeyReader, name: str, fill: Fill
    ) -> None:
        fill(name, [[], [b"a"], []])
        sample = reader.newest_keys(name, 10)
        assert dict(sample.keys) == {1: [b"a"]}
        assert dict(sample.held) == {0: 0, 1: 1, 2: 0}

    def test_an_empty_topic_has_no_keys(self, reader: KeyReader, name: str, fill: Fill) -> None:
        fill(name, [[], []])
        assert dict(reader.newest_keys(name, 10).keys) == {}

    def test_a_topic_that_is_not_there_is_refused(self, reader: KeyReader, name: str) -> None:
        with pytest.raises(RefusedError, match=name):
            reader.newest_keys(name, 10)
