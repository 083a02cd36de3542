"""A bounded past as one block of numbers: records that are added often, and read only where something is wrong.

In a tuple every record is an object, and adding one touches all of them. Ten thousand streams that remember some
hundred records each would fill a gigabyte, and no cache of a processor. Here a record is made when a caller asks.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import starmap
from typing import TypeVar, overload

Record = TypeVar("Record")


class Series(Sequence[Record]):
    """Records of equally many numbers, oldest first. It never changes."""

    __slots__ = ("_make", "_numbers", "_width")

    def __init__(self, make: Callable[..., Record], width: int, numbers: array[float] | None = None) -> None:
        self._make = make
        self._width = width
        self._numbers = array("d") if numbers is None else numbers

    def plus(self, *numbers: float) -> Series[Record]:
        """Return the series with one more record, which is the newest."""
        return self._of(self._numbers + array("d", numbers))

    def column(self, place: int) -> Sequence[float]:
        """Return one number of each record."""
        return self._numbers[place :: self._width]

    def number(self, record: int, place: int) -> float:
        """Return one number of one record, without making the record; -1 is the newest one's."""
        return self._numbers[self._begin(record) + place]

    def columns(self) -> Sequence[Sequence[float]]:
        """Return the numbers of each column."""
        return [self.column(place) for place in range(self._width)]

    def thinned(self, most: int) -> Series[Record]:
        """Return the series, or, if it is longer, every second record of its older half and all of the newer one."""
        if len(self) <= most:
            return self
        half = len(self) // 2
        kept = array("d")
        for number in range(0, half, 2):
            kept += self._numbers[number * self._width : (number + 1) * self._width]
        return self._of(kept + self._numbers[half * self._width :])

    def __len__(self) -> int:
        """Return how many records there are."""
        return len(self._numbers) // self._width

    def __iter__(self) -> Iterator[Record]:
        """Make all records, oldest first."""
        return starmap(self._make, zip(*[iter(self._numbers)] * self._width, strict=True))

    @overload
    def __getitem__(self, wanted: int) -> Record: ...

    @overload
    def __getitem__(self, wanted: slice) -> Series[Record]: ...

    def __getitem__(self, wanted: int | slice) -> Record | Series[Record]:
        """Make one record, or return a part of the series without gaps."""
        if isinstance(wanted, slice):
            begin, end, step = wanted.indices(len(self))
            if step != 1:
                raise ValueError("a part of a series has no gaps")
            return self._of(self._numbers[begin * self._width : end * self._width])
        begin = self._begin(wanted)
        return self._make(*self._numbers[begin : begin + self._width])

    def __eq__(self, other: object) -> bool:
        """Whether both have the same records."""
        return isinstance(other, Series) and self._make is other._make and self._numbers == other._numbers

    def __hash__(self) -> int:
        """Return the same for series that are equal."""
        return hash(self._numbers.tobytes())

    def __repr__(self) -> str:
        """Return the records."""
        return f"Series({list(self)})"

    def _begin(self, record: int) -> int:
        begin = record * self._width if record >= 0 else len(self._numbers) + record * self._width
        if not 0 <= begin < len(self._numbers):
            raise IndexError(f"a series of {len(self)} has no record {record}")
        return begin

    def _of(self, numbers: array[float]) -> Series[Record]:
        return Series(self._make, self._width, numbers)
