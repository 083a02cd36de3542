"""What a settler needs from the world: raw tables, the ends of topics, the computation, and the settled table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeVar

from sluice.errors import SluiceError
from sluice.intervals.alignment import Interval
from sluice.intervals.arrivals import ArrivalSpan
from sluice.intervals.carried import Carried
from sluice.intervals.entries import NOTHING_EXAMINED, Content, ExaminedSource, SettleEntry
from sluice.intervals.reach import Hole, RawPosition, Reach
from sluice.settling.examination import Examination


class UncertainCommitError(SluiceError):
    """A commit was sent, and nobody knows whether it is in the log."""


@dataclass(frozen=True)
class SettledState:
    """What the log of the settled table says, at one version.

    Attributes:
        version: of the table: a commit that rests on this is made right after it, or not at all.
        settled_until: intervals that end by then are settled; None: none is.
        sources: what was examined of each topic, by its name.
        nonce: of the newest settlement; empty before the first.
        decided_at: the version of the newest settlement, or of what a person decided about it since.
        believed_until: arrival times up to here were confirmed by a person.
    """

    version: int
    settled_until: datetime | None = None
    sources: Mapping[str, ExaminedSource] = field(default_factory=dict)
    nonce: str = ""
    decided_at: int = -1
    believed_until: datetime | None = None

    def source(self, topic: str) -> ExaminedSource:
        """Return what was examined of a topic."""
        return self.sources.get(topic, NOTHING_EXAMINED)

    @property
    def unconfirmed(self) -> dict[str, tuple[ArrivalSpan, ...]]:
        """The arrival times beyond an advance that nothing corroborates, by partition."""
        return unconfirmed_of(self.sources.values())


def unconfirmed_of(sources: Iterable[ExaminedSource]) -> dict[str, tuple[ArrivalSpan, ...]]:
    """Return the arrival times of topics beyond an advance that nothing corroborates, by partition."""
    return {name: spans for each in sources for name, spans in each.clocks.unconfirmed.items()}


class Staged(Protocol):
    """Computed rows that no reader sees yet."""

    @property
    def content(self) -> Mapping[datetime, Content]:
        """What each interval holds, by its start; those without rows are left out."""

    @property
    def carried(self) -> Mapping[datetime, Carried]:
        """The states that intervals continued and left, by their starts; those without records are left out."""

    def discard(self) -> None:
        """Free what it takes; never once a commit of it may be in the log."""


R_co = TypeVar("R_co", bound=Staged, covariant=True)
R_contra = TypeVar("R_contra", bound=Staged, contravariant=True)


class RawSource(Protocol):
    """A topic's records as its raw table holds them, or a settled table of another pipeline.

    Such a table is called by a name that no topic has, and its versions are the offsets of one partition.
    """

    def pin(self) -> RawPosition:
        """Return how far the table goes now."""

    def listed_ends(self) -> Reach:
        """Return the ends of the topic's partitions now (the log's, not the last stable offset), and the topic's id."""

    def examine(self, pinned: RawPosition, since: Reach, settled_until: datetime | None) -> Examination:
        """Judge the records between `since` and the pinned table, or the first of them if they are many.

        Args:
            pinned: what `pin` returned.
            since: what was judged before.
            settled_until: see `sluice.settling.examination.examined`.
        """

    def around(self, pinned: RawPosition, hole: Hole) -> tuple[datetime | None, datetime | None]:
        """Return the arrival times that bound those of records which are lost.

        The second is the oldest of those right behind them, or at the beginning of the topic that followed theirs; the
        first is the newest of those right before them that is no later. None where no arrival time is known.
        """


class Computation(Protocol[R_co]):
    """The pipeline's code over the raw tables of its topics."""

    def renewed(self) -> Computation[R_co]:
        """Return the computation with what its static inputs hold now; itself if none has changed."""

    @property
    def static(self) -> Mapping[str, str]:
        """The digests of what those static inputs hold that may change, by name: what it computes with."""

    def bounded(self, pinned: Mapping[str, RawPosition], intervals: Interval) -> Interval:
        """Return the first of some intervals: as many as one computation takes, at least one.

        Args:
            pinned: how far each raw table goes, by topic.
            intervals: from the start of the first to the end of the last.
        """

    def compute(self, pinned: Mapping[str, RawPosition], below: Mapping[str, Reach], intervals: Interval) -> R_co:
        """Compute the rows of a range of intervals, by the code of a backfill.

        Args:
            pinned: how far each raw table goes, by topic.
            below: the records that are taken, by topic.
            intervals: from the start of the first to the end of the last.
        """


class SettledTable(Protocol[R_contra]):
    """The output table."""

    def open(self) -> None:
        """Mark the table for this generation; who wrote it before is fenced.

        Raises:
            FencedError: a newer generation has marked it.
        """

    def read(self) -> SettledState:
        """Return what its log says now.

        Raises:
            FencedError: a newer generation has marked it.
        """

    def commit(self, state: SettledState, entry: SettleEntry, rows: R_contra | None) -> bool:
        """Replace the intervals that `entry` settles, right after the version of `state`, in one commit.

        Returns:
            Whether it was made; False: another commit was quicker, and nothing was changed.

        Raises:
            UncertainCommitError: nobody knows.
        """

    def holds(self, state: SettledState, entry: SettleEntry) -> bool:
        """Whether the commit right after the version of `state` is the one of `entry`, by its nonce."""
