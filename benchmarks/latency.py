"""From a record in one topic to the record made of it in another, at 1,000 records a second, in two lanes.

The same pipeline runs in the lane `realtime` and in `latency`: strict decoding, a filter, five columns; see
`benchmarks.latency_trial` for how it is measured. `latency peers` gives the same job to what people would write or take
instead, beside ours.
"""

from __future__ import annotations

from typing import Any

from benchmarks.latency_trial import PER_SECOND, lane_latencies
from benchmarks.peers import latency_peers
from sluice.specs.model.lanes import Lane

_SIZES = {"full": {Lane.REALTIME: 200, Lane.LATENCY: 200}, "small": {Lane.REALTIME: 20, Lane.LATENCY: 20}}


def run(size: str = "full", *options: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `realtime_p50_ms`, `realtime_p99_ms`, `micro_p50_ms` and `batches`, the fewest of both lanes.

    Args:
        size: `full`, `small`, or `peers`, which compares with others.
        options: of `peers`: its size, and the names of some programs.
    """
    if size == "peers":
        return latency_peers.run(*options)
    seen = {lane: lane_latencies(lane, seconds) for lane, seconds in _SIZES[size].items()}
    (realtime, _), (micro, _) = seen[Lane.REALTIME], seen[Lane.LATENCY]
    figures = {
        "realtime_p50_ms": realtime.share(0.5),
        "realtime_p99_ms": realtime.share(0.99),
        "micro_p50_ms": micro.share(0.5),
        "batches": min(batches for _, batches in seen.values()),
    }
    lanes = {lane.value: {**latencies.notes(), "batches": batches} for lane, (latencies, batches) in seen.items()}
    return figures, {"size": size, "records_per_s": PER_SECOND, "lanes": lanes}
