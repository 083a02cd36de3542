"""The address of a record, as people write it and as errors about it read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from sluice.errors import SpecError

_FORM = "write TOPIC/PARTITION/OFFSET, such as flights/0/1234."


@dataclass(frozen=True)
class RecordAddress:
    """Where a record was appended.

    Attributes:
        topic: the topic's name.
        partition: its number.
        offset: in the partition.
    """

    topic: str
    partition: int
    offset: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the address that a text is.

        Raises:
            SpecError: it is none; the message says which part is wrong.
        """
        topic, *numbers = text.split("/")
        if not topic or len(numbers) != len(("partition", "offset")):
            raise SpecError(f"{text!r} is not the address of a record.", fix=_FORM)
        return cls(topic, *(_number(text, *named) for named in zip(("partition", "offset"), numbers, strict=True)))

    @property
    def key(self) -> str:
        """Its partition, as reaches and log entries name it."""
        return f"{self.topic}/{self.partition}"

    def __str__(self) -> str:
        """Return it as people write it."""
        return f"{self.key}/{self.offset}"


def _number(address: str, what: str, text: str) -> int:
    if text.isascii() and text.isdecimal():
        return int(text)
    negative = text.startswith("-") and text[1:].isdecimal()
    fault = f"{what} {text} is negative; Kafka counts from 0" if negative else f"{what} {text!r} is no whole number"
    raise SpecError(f"{address!r} is not the address of a record: the {fault}.", fix=_FORM)


def refuse_partition(address: RecordAddress, partitions: int) -> None:
    """Refuse an address in a partition that its topic does not have.

    Args:
        address: the address.
        partitions: how many the topic has, as far as anything knows.

    Raises:
        SpecError: there is no such partition.
    """
    if address.partition >= partitions:
        those = "only the partition 0" if partitions == 1 else f"the partitions 0 to {partitions - 1}"
        raise SpecError(
            f"{address.topic} has {those}, and not {address.partition}.", fix="correct the partition in the address."
        )
