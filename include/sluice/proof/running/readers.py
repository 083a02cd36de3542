"""The readers of a proof's raw tables, one for each topic, and the looks that are kept of them."""

from __future__ import annotations

from collections.abc import Mapping

from sluice.proof.observations import ObservedRecords, ReaderLook
from sluice.proof.running.raw_reader import RawReader


class RawReaders:
    """Looks at all raw tables at once.

    Args:
        readers: of the tables, by the topic.
        keep_every: seconds between two looks at a table that are kept: each has the ids of all records. What shows a
            fault is kept whenever it is seen.
    """

    def __init__(self, readers: Mapping[str, RawReader], keep_every: float) -> None:
        self._readers, self._keep_every = readers, keep_every
        self._kept: dict[str, list[ReaderLook]] = {topic: [] for topic in readers}
        self._newest: dict[str, ReaderLook] = {}

    def look(self) -> Mapping[str, frozenset[str]]:
        """Return the ids that are there now, by the topic."""
        found = {}
        for topic, reader in self._readers.items():
            look, before, kept = reader.look(), self._newest.get(topic), self._kept[topic]
            if before is not None and before.ids - look.ids and kept[-1] is not before:
                kept.append(before)  # it has what is gone
            if not kept or look.at - kept[-1].at >= self._keep_every or look.twice or kept[-1].ids - look.ids:
                kept.append(look)
            self._newest[topic] = look
            found[topic] = look.ids
        return found

    def have_all(self, due: frozenset[str]) -> bool:
        """Whether each of these records is in one of the tables."""
        return due <= frozenset().union(*self.look().values())

    def have_any_of_each(self, ids: frozenset[str] | None = None) -> bool:
        """Whether each table has a record, or one of these."""
        return all(bool(found if ids is None else found & ids) for found in self.look().values())

    @property
    def seen(self) -> int:
        """How many records the newest looks had."""
        return sum(len(look.ids) for look in self._newest.values())

    def ignore_times(self) -> None:
        """Forget when the records of so far came, see `RawReader.ignore_times`."""
        for reader in self._readers.values():
            reader.ignore_times()

    def all(self) -> tuple[ObservedRecords, ...]:
        """Return all records of each table."""
        return tuple(reader.all() for reader in self._readers.values())

    @property
    def looks(self) -> tuple[ReaderLook, ...]:
        """The looks that were kept, in the order of time."""
        return tuple(sorted((look for kept in self._kept.values() for look in kept), key=lambda look: look.at))
