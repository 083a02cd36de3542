"""The circuit breaker: a batch of which too much is quarantined holds no bad records, but another schema.

To go on would quarantine all that follows, and close intervals without it. So the batch is not committed; once the
producer or the spec is mended, it is the first that is read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sluice.errors import SluiceError
from sluice.quality.reasons import Reason
from sluice.specs.model.deadlines import CircuitBreaker

_REASONS = 3
"""The number of reasons in the message; all of them are in the tally."""


class SchemaDriftError(SluiceError):
    """Too much of a batch is quarantined. Nothing of it was committed."""


@dataclass(frozen=True)
class Rejected:
    """The records that one reason refuses in one partition.

    Attributes:
        reason: which.
        partition: as `topic/partition`.
        records: how many.
        first: the lowest of their offsets.
        last: the highest.
    """

    reason: Reason
    partition: str
    records: int
    first: int
    last: int


@dataclass(frozen=True)
class Tally:
    """What validation makes of a batch: all its records, and those that it refuses."""

    records: int
    rejected: tuple[Rejected, ...] = ()

    @property
    def quarantined(self) -> int:
        """How many are refused."""
        return sum(part.records for part in self.rejected)

    @property
    def share(self) -> float:
        """Of all records, 0-1; of none, none is refused."""
        return self.quarantined / self.records if self.records else 0.0

    @property
    def by_reason(self) -> Mapping[Reason, int]:
        """How many each reason refuses, the most first."""
        counts: dict[Reason, int] = {}
        for part in self.rejected:
            counts[part.reason] = counts.get(part.reason, 0) + part.records
        order = {reason: number for number, reason in enumerate(Reason)}
        return dict(sorted(counts.items(), key=lambda item: (-item[1], order[item[0]])))


def refuse_drift(tally: Tally, limit: CircuitBreaker, *, batch: str) -> None:
    """Raise if too much of a batch is quarantined; `batch` names it in the message.

    Raises:
        SchemaDriftError: it has enough records to be judged, and a greater share is quarantined than the spec allows.
    """
    if tally.records < limit.records or tally.share <= limit.share:
        return
    worst = next(iter(tally.by_reason))
    raise SchemaDriftError(
        f"{batch}: {tally.quarantined} of {tally.records} records ({tally.share:.0%}) are quarantined, and its "
        f"circuit_breaker allows {limit.share:.0%}: {'; '.join(_reasons_text(tally))}. Nothing of it is committed.",
        fix=f"{worst.what_to_do}; or allow it in the spec.",
    )


def _reasons_text(tally: Tally) -> Iterable[str]:
    for reason, records in list(tally.by_reason.items())[:_REASONS]:
        first = min((part for part in tally.rejected if part.reason is reason), key=lambda part: part.first)
        yield f"{records} {reason} ({reason.meaning}), such as {first.partition} offset {first.first}"
