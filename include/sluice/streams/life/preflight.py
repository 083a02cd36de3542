"""What stands against the start of a driver, all of it at once: said before anything is changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sluice.errors import SluiceError


class NotStartableError(SluiceError):
    """A unit cannot start. Nothing was changed.

    Attributes:
        faults: stream (empty: the unit as a whole) and what stands against its start, at least one.
    """

    def __init__(self, faults: Sequence[tuple[str, Exception]]) -> None:
        super().__init__("; ".join(f"{stream}: {fault}" if stream else str(fault) for stream, fault in faults))
        self.faults = tuple(faults)

    @property
    def stream(self) -> str:
        """The one stream that cannot start; empty if several cannot."""
        return self.faults[0][0] if len(self.faults) == 1 else ""

    @property
    def exceptions(self) -> tuple[Exception, ...]:
        """The faults alone, as an exception group names them."""
        return tuple(fault for _, fault in self.faults)


class Preflight:
    """Collects faults."""

    def __init__(self) -> None:
        self._faults: list[tuple[str, Exception]] = []

    @contextmanager
    def of(self, stream: str) -> Iterator[None]:
        """Keep what is raised inside, as a fault of a stream; what comes after this block is checked all the same."""
        try:
            yield
        except Exception as fault:  # noqa: BLE001 - whatever it is, it stands against the start
            self._faults.append((stream, fault))

    def refuse(self) -> None:
        """End here if anything was found.

        Raises:
            NotStartableError: with all of it.
        """
        if self._faults:
            raise NotStartableError(self._faults)
