"""What a plan is made from: the load of a driver as it was, and what it keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sluice.capacity.load import BatchTime, LoadWindow
from sluice.errors import NotReadyError

MIN_WINDOWS = 8
MIN_SPREAD = 1.25
"""By which factor the rate must have varied: else nothing says what the driver costs without a record."""
_EDGE = 10
"""Of a hundred windows so many are the quiet ones, and so many the busy ones."""


@dataclass(frozen=True)
class StoredBytes:
    """What one table or topic keeps.

    Attributes:
        name: of it, with its kind.
        bytes: of all that it holds, with its replicas.
        records: by which `bytes` grew, at least 1; 0: by none, as it has a row for each key, whatever the rate.
        seconds: for how long it keeps a record; None: for ever.
        share: of the records of the pipeline so many are behind what it keeps: one of several topics has not all.
        unknown: why nobody knows what it will hold; empty if that is known.
    """

    name: str
    bytes: float
    records: float
    seconds: float | None
    share: float = 1.0
    unknown: str = ""

    @property
    def each(self) -> float:
        """Bytes per record that is behind them."""
        return self.bytes / self.records


@dataclass(frozen=True)
class MeasuredUnit:
    """A driver as it was measured.

    Attributes:
        unit: its name.
        pipeline: whose records count.
        windows: of its load, warm, oldest first.
        batch_times: of its streams that show records, by stream.
        triggers: least seconds between two batches of each of its streams; 0: none.
        shown: the stream in whose batches a record counts as there; None: its lane has no such batches.
        cores: that it has now.
        tasks: of one batch at most: partitions of the topics, or `min_partitions`.
        stream_tasks: the same of streams that read one of them only.
        shares: of the pipeline's records so many are those of such a stream.
        state_bytes: of its state.
        memory_bytes: of the driver's processes; None: nobody has measured it.
        heap_used: bytes of the Java heap at most; None as above.
        heap_max: bytes that it may use; None as above.
        stored: what its tables and topics keep.
        beside: the other pipelines of the same driver; a plan is for all of them at the same factor.
    """

    unit: str
    pipeline: str
    windows: Sequence[LoadWindow]
    batch_times: Mapping[str, Sequence[BatchTime]]
    triggers: Mapping[str, float]
    shown: str | None
    cores: int
    tasks: int
    stream_tasks: Mapping[str, int] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    state_bytes: float = 0.0
    memory_bytes: float | None = None
    heap_used: float | None = None
    heap_max: float | None = None
    stored: Sequence[StoredBytes] = field(default=())
    beside: Sequence[str] = ()

    @property
    def rate(self) -> float:
        """Records per second, over all windows."""
        return sum(window.records for window in self.windows) / sum(window.seconds for window in self.windows)

    @property
    def rates(self) -> tuple[float, float]:
        """The least and the greatest rate of a window."""
        rates = [window.rate for window in self.windows]
        return min(rates), max(rates)


def refuse_unfit(measured: MeasuredUnit) -> None:
    """Make sure that a fit means something.

    Raises:
        NotReadyError: there are too few measurements, no record in them, or all of one load.
    """
    windows = measured.windows
    if len(windows) < MIN_WINDOWS:
        raise NotReadyError(
            f"the driver {measured.unit} has {len(windows)} measured windows of its load on record, and a plan needs "
            f"{MIN_WINDOWS}: its first minute, in which Java compiles its code, does not count.",
            fix="let it run for some minutes with records, and plan then.",
        )
    if not any(window.records for window in windows):
        raise NotReadyError(
            f"the pipeline {measured.pipeline} read no record in the {len(windows)} measured windows.",
            fix="plan when records have come.",
        )
    rates = sorted(window.rate for window in windows)
    edge = max(1, len(rates) * _EDGE // 100)
    quiet, busy = sum(rates[:edge]) / edge, sum(rates[-edge:]) / edge
    if busy < quiet * MIN_SPREAD:
        raise NotReadyError(
            f"the load was too uniform: the driver {measured.unit} had {quiet:,.0f} to {busy:,.0f} records per second, "
            "so nothing says how much of its cost would be the same without any.",
            fix="plan after a quieter and a busier time, or after a backlog was read.",
        )
