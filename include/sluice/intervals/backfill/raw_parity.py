"""What a comparison of a raw table with Kafka amounts to: counts, faults, and what could not be checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sluice.wording import ExplainedEnum, counted, listed

_EXAMPLES = 20
_CHECKED = ("partitions", "idle", "offsets", "known", "no_records", "removed", "gone", "unchecked", "unheld")
_NUMBERS = (*_CHECKED, "compared")


class RawFaultKind(ExplainedEnum):
    """How a raw table differs from Kafka."""

    LOST = (
        "lost",
        "Kafka holds a committed record that the raw table lacks",
        "read the topic into a new raw table while Kafka holds the record: `sluice docs runbook#raw-mismatch`",
    )
    ALTERED = (
        "altered",
        "the raw table holds another key, value, header or timestamp of a record than Kafka",
        "find out what wrote to the table: `sluice docs runbook#raw-mismatch`",
    )
    REPEATED = (
        "repeated",
        "the raw table holds a record more than once",
        "find the commit that added it again: `sluice docs runbook#raw-mismatch`",
    )
    FOREIGN = (
        "foreign",
        "the raw table holds a record at an offset where Kafka has no committed one",
        "find out what wrote it, or whether Kafka lost it: `sluice docs runbook#raw-mismatch`",
    )


@dataclass(frozen=True, order=True)
class RawFault:
    """One record of which raw table and Kafka say different things.

    Attributes:
        topic_id: the cluster's UUID of the topic.
        partition: `topic/partition`.
        offset: of the record.
        kind: what is wrong.
        parts: of an altered record: what of it differs.
    """

    topic_id: str
    partition: str
    offset: int
    kind: RawFaultKind
    parts: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.partition} offset {self.offset} {self.kind}{f' ({listed(self.parts)})' if self.parts else ''}"


@dataclass(frozen=True)
class RawParity:
    """What was found of the records behind some intervals.

    Attributes:
        partitions: ranges of offsets that were checked, one for each partition of each topic id.
        idle: partitions that hold no record of these times or of the day around them: nothing of them was checked.
        offsets: how many are in the ranges.
        known: offsets that the raw table lacks, as its log says.
        no_records: offsets that it lacks where Kafka has no committed record either, such as marks of transactions.
        removed: offsets that it lacks whose records are older than its floor, as far as can be told.
        gone: offsets that it lacks, no hole of its log names, and Kafka does not hold any more.
        unchecked: offsets that it lacks beyond the number that is looked up, or that lie beyond the longest range.
        unheld: offsets that Kafka does not hold any more, whether the raw table has them or not.
        compared: records whose bytes were compared.
        faults: by kind.
        examples: the first of them.
        not_compared: why it was not compared with Kafka, or not all of it; empty if it was.
    """

    partitions: int = 0
    idle: int = 0
    offsets: int = 0
    known: int = 0
    no_records: int = 0
    removed: int = 0
    gone: int = 0
    unchecked: int = 0
    unheld: int = 0
    compared: int = 0
    faults: Mapping[RawFaultKind, int] = field(default_factory=dict)
    examples: tuple[RawFault, ...] = ()
    not_compared: str = ""

    @classmethod
    def joined(cls, parts: Iterable[RawParity]) -> RawParity | None:
        """Return the sum of several; None if there is none."""
        every = list(parts)
        if not every:
            return None
        faults = sum((Counter(part.faults) for part in every), Counter[RawFaultKind]())
        numbers = {name: sum(getattr(part, name) for part in every) for name in _NUMBERS}
        examples = [fault for part in every for fault in part.examples]
        reasons = dict.fromkeys(part.not_compared for part in every if part.not_compared)
        return cls(**numbers, faults=dict(faults), examples=first(examples), not_compared="; ".join(reasons))

    @property
    def sound(self) -> bool:
        """Whether no fault was found."""
        return not self.faults

    @property
    def why(self) -> str:
        """The faults in one sentence without its end; empty if there are none."""
        if self.sound:
            return ""
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.faults.items())
        return f"the raw table does not hold the records that Kafka holds ({kinds}): {listed(self.examples, 3)}"

    @property
    def lines(self) -> tuple[str, ...]:
        """What was checked, and what could not be, one clause each."""
        checked = f"{counted(self.offsets, 'offset')} of {counted(self.partitions, 'partition')} checked"
        found = [self.why] if self.why else []
        if self.compared or not self.not_compared:
            found.append(f"{counted(self.compared, 'record')} compared with Kafka byte by byte")
        if self.not_compared:
            found.append(f"not compared with Kafka: {self.not_compared}")
        notes = {
            "lie in known holes": self.known,
            "are missing where Kafka has no committed record": self.no_records,
            "are missing below the floor of raw retention": self.removed,
            "are missing and cannot be checked any more: no hole is known, and Kafka does not hold them": self.gone,
            "are missing or lie further away, and were not looked up": self.unchecked,
            "are not held by Kafka any more, so their bytes were not compared": self.unheld,
        }
        idle = (f"no record of {counted(self.idle, 'partition')} lies in these times",) if self.idle else ()
        return (checked, *found, *(f"{number:,} {note}" for note, number in notes.items() if number), *idle)

    @property
    def text(self) -> str:
        """The same in one line."""
        return "; ".join(self.lines)

    def as_json(self) -> dict[str, object]:
        """Return it for programs."""
        examples = [
            {
                "kind": fault.kind,
                "topic_id": fault.topic_id,
                "partition": fault.partition,
                "offset": fault.offset,
                "parts": list(fault.parts),
            }
            for fault in self.examples
        ]
        return {
            "sound": self.sound,
            **{name: getattr(self, name) for name in _NUMBERS},
            "faults": dict(self.faults),
            "examples": examples,
            "not_compared": self.not_compared,
            "text": self.text,
        }


def first(faults: Iterable[RawFault]) -> tuple[RawFault, ...]:
    """Return the faults that are kept as examples: the first ones, each once."""
    return tuple(sorted(set(faults))[:_EXAMPLES])
