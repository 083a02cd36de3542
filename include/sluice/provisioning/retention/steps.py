"""A retention that is lowered in steps, so that an operator who notices a mistake after the first still has half.

Each step deletes at most a share of what is kept, and waits until the broker has deleted that. A broker deletes whole
segments and checks only every few minutes: what it has not deleted when a step's time is up is reported, and the next
step follows. Nothing is put on record: the topic's own retention says how far it got, and a plan from there has the
rest of the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sluice.clock import Clock
from sluice.provisioning.retention.cut import cut_by_time, kept_at, stays_at
from sluice.topics.administration import KafkaAdministration

RETENTION = "retention.ms"
SHARE = 0.5
"""Of what is kept, at most so much goes in one step. After a first step at least half is there, and
the number of steps grows with the logarithm of what goes."""
GRAIN_MS = 300_000
"""Steps lie on whole multiples of this, the interval in which brokers check by default: finer steps make no difference,
and the multiples are the same from every starting point."""
PATIENCE_SECONDS = 600.0
"""How long one step waits: two of these intervals."""
_POLL_SECONDS = 5.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def steps(
    before_ms: int | None,
    after_ms: int,
    kept: Callable[[int], int],
    *,
    longest_ms: int,
    share: float = SHARE,
    grain_ms: int = GRAIN_MS,
) -> tuple[int, ...]:
    """Return the retentions to set, one after another; the last is the target.

    A step deletes more than the share only where records of one age leave no other choice: then it is the smallest
    possible. The steps from one of these retentions on are the rest of the same steps.

    Args:
        before_ms: the retention now; None or negative: everything is kept, or it is not known how much.
        after_ms: the target; not negative.
        kept: returns how many records a retention keeps; never more for a shorter one.
        longest_ms: a retention that keeps everything, such as the milliseconds since 1970.
        share: the largest share of what is kept that one step lets go, between 0 and 1.
        grain_ms: what all steps but the last are multiples of.

    Raises:
        ValueError: the target is negative, or the share is not between 0 and 1.
    """
    if after_ms < 0 or not 0 < share < 1:
        raise ValueError(f"a target of {after_ms} ms in steps of a share of {share} is no shorter retention")
    now_ms = longest_ms if before_ms is None or before_ms < 0 else before_ms
    lowered = []
    while after_ms < now_ms:
        now_ms = _next(now_ms, after_ms, kept, (1 - share) * kept(now_ms), grain_ms)
        lowered.append(now_ms)
    return tuple(lowered) or (after_ms,)


def _next(now_ms: int, after_ms: int, kept: Callable[[int], int], least: float, grain_ms: int) -> int:
    """Return the shortest retention that keeps as much as it has to, or else the longest that is shorter than now."""
    if kept(after_ms) >= least:
        return after_ms
    low, high = after_ms // grain_ms + 1, (now_ms - 1) // grain_ms
    if low > high:
        return after_ms
    longest = high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if kept(middle * grain_ms) >= least else (middle + 1, high)
    return low * grain_ms if kept(low * grain_ms) >= least else longest * grain_ms


@dataclass(frozen=True)
class Lowered:
    """The result of one step.

    Attributes:
        retention_ms: that was set.
        due: records that it let go, at most.
        gone: records that went, of these and of what earlier steps had left.
        seconds: how long it waited.
    """

    retention_ms: int
    due: int
    gone: int
    seconds: float

    def __str__(self) -> str:
        """Return it as a clause."""
        result = f"{RETENTION}={self.retention_ms}: {self.gone:,} of {self.due:,} records went in {self.seconds:.0f} s"
        if self.gone >= self.due:
            return result
        return f"{result}; the rest is in segments that hold younger records, or the broker has not checked yet"


def planned_steps(
    cluster: KafkaAdministration, topic: str, before_ms: int | None, after_ms: int, *, now: datetime
) -> tuple[int, ...]:
    """Return the steps for a topic as it is now, see `steps`. Changes nothing.

    Records count as old as they are when a broker has checked: until then they age.
    """
    then = now + timedelta(milliseconds=GRAIN_MS)
    longest_ms = -((_EPOCH - then) // timedelta(milliseconds=1))
    return steps(before_ms, after_ms, kept_at(cluster, topic, now=then), longest_ms=longest_ms)


def lower_in_steps(
    cluster: KafkaAdministration,
    topic: str,
    before_ms: int | None,
    after_ms: int,
    clock: Clock,
    *,
    patience_seconds: float = PATIENCE_SECONDS,
) -> Iterator[Lowered]:
    """Set one retention after another, and yield each once the broker has deleted what it lets go.

    Before each step the rest is planned again, as records come and age while it waits. It may be killed anywhere, and
    a caller that asks for no more leaves the rest of the steps to the next plan.

    Raises:
        RefusedError: the cluster refused. What was set before stays.
        UnreachableError: the cluster did not answer. What was set before stays.
    """
    left = planned_steps(cluster, topic, before_ms, after_ms, now=clock.now())
    while left:
        reached, *rest = left
        yield _lower(cluster, topic, reached, clock, clock.monotonic() + patience_seconds)
        left = planned_steps(cluster, topic, reached, after_ms, now=clock.now()) if rest else ()


def _lower(cluster: KafkaAdministration, topic: str, retention_ms: int, clock: Clock, until: float) -> Lowered:
    begun, extent = clock.monotonic(), cluster.extent(topic)
    young = stays_at(cluster, topic, extent, retention_ms, now=clock.now())
    stays = {p: each.stays for p, each in cut_by_time(topic, extent, young).partitions.items()}
    cluster.set_configs(topic, {RETENTION: str(retention_ms)})
    firsts = cluster.beginnings(topic)
    while any(firsts[p] < offset for p, offset in stays.items()) and clock.monotonic() < until:
        clock.sleep(min(_POLL_SECONDS, until - clock.monotonic()))
        firsts = cluster.beginnings(topic)
    due = sum(offset - extent.beginnings[p] for p, offset in stays.items())
    gone = sum(min(firsts[p], offset) - extent.beginnings[p] for p, offset in stays.items())
    return Lowered(retention_ms, due, gone, clock.monotonic() - begun)
