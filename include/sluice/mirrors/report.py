"""What a fail-over does, or would do: where each stream goes on, what is lost, what is double, how long it took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from sluice.mirrors.translation import Comparison, PartitionTranslation
from sluice.wording import listed


@dataclass(frozen=True)
class StreamTranslation:
    """Where one stream goes on.

    Attributes:
        stream: its name.
        topic_id: of the target's topic; of several, see `sluice.streams.position.epochs`.
        partitions: by `topic/partition`.
    """

    stream: str
    topic_id: str
    partitions: Mapping[str, PartitionTranslation]

    @property
    def offsets(self) -> dict[str, int]:
        """The next offset in the target, per `topic/partition`."""
        return {partition: one.at for partition, one in self.partitions.items()}

    @property
    def doubles(self) -> int:
        """Records that it would read twice."""
        return sum(len(one.doubles) for one in self.partitions.values())


@dataclass(frozen=True)
class FailoverReport:
    """One fail-over.

    Attributes:
        mirror: its name.
        unit: whose streams.
        target: the deployment that they go on in.
        at: when it began (UTC).
        rehearsal: whether nothing was changed.
        source: why the source does not answer; empty if it does.
        streams: where they go on.
        compared: by `topic/partition`, what a rehearsal has compared record by record.
        seconds: how long each step took.
    """

    mirror: str
    unit: str
    target: str
    at: datetime
    rehearsal: bool
    source: str = ""
    streams: tuple[StreamTranslation, ...] = ()
    compared: Mapping[str, Comparison] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def lost(self) -> Mapping[str, tuple[int, int] | None]:
        """What is neither copied nor in the raw table, per `topic/partition`: see `PartitionTranslation.lost`."""
        ranges: dict[str, tuple[int, int] | None] = {}
        for one in sorted(self.streams, key=lambda stream: not stream.stream.startswith("raw_")):
            for partition, translation in one.partitions.items():
                ranges.setdefault(partition, translation.lost)
        return ranges

    @property
    def doubles(self) -> int:
        """Records that some stream would read twice."""
        return sum(stream.doubles for stream in self.streams)

    @property
    def exact(self) -> bool:
        """Whether every copy was found, once and unchanged, and nothing would be read twice."""
        return not self.doubles and all(each.alike for each in self.compared.values())

    def as_json(self) -> dict[str, Any]:
        """Return all of it, with what follows from it."""
        lost = {p: None if span is None else {"first": span[0], "end": span[1]} for p, span in self.lost.items()}
        return {**asdict(self), "at": self.at.isoformat(), "lost": lost, "doubles": self.doubles, "exact": self.exact}

    def lines(self) -> Iterator[str]:
        """Yield it for people, in Markdown."""
        what = "Rehearsed fail-over" if self.rehearsal else "Fail-over"
        yield f"# {what} of {self.unit} to {self.target}, by the mirror {self.mirror}"
        yield ""
        yield (
            f"At {self.at:%Y-%m-%d %H:%M:%S} UTC. Took {sum(self.seconds.values()):.1f} s: "
            + ", ".join(f"{step} {seconds:.1f} s" for step, seconds in self.seconds.items())
            + "."
        )
        yield f"The source does not answer: {self.source}" if self.source else "The source answers."
        yield ""
        yield from self._verdict_lines()
        for stream in self.streams:
            yield ""
            yield f"## {stream.stream}"
            yield ""
            yield "| partition | source | target | copied to | waiting | double |"
            yield "|---|---|---|---|---|---|"
            for name, one in stream.partitions.items():
                doubles = listed([copy.offset for copy in one.doubles]) or "none"
                copied = "-" if one.copied is None else one.copied
                yield f"| {name} | {one.position} | {one.at} | {copied} | {one.waiting} | {doubles} |"

    def _verdict_lines(self) -> Iterator[str]:
        unknown = [p for p, span in self.lost.items() if span is None]
        lost = [f"{p} offsets {s[0]} to {s[1] - 1}" for p, s in self.lost.items() if s is not None and s[0] < s[1]]
        if unknown:
            reached = {p: one.reached for stream in self.streams for p, one in stream.partitions.items()}
            said = listed([f"{p} from offset {reached[p]}" for p in unknown])
            yield f"* Lost: whatever the source has behind what was copied and read: {said}."
        if lost:
            verb = "Would be lost" if self.rehearsal else "Lost"
            yield f"* {verb}, because it is not copied: {listed(lost)}."
        if not unknown and not lost:
            yield "* Lost: nothing."
        yield f"* Double: {self.doubles or 'nothing'}{' records' if self.doubles else ''}."
        if self.compared:
            records = sum(each.records for each in self.compared.values())
            wrong = [p for p, each in self.compared.items() if not each.alike]
            found = f"these differ: {listed(wrong)}" if wrong else "every one has one copy, which says the same"
            yield f"* Compared, record by record: {records:,}; {found}."
