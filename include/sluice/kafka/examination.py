"""All addresses of a cluster, examined at once: those of the deployment, then those that its brokers tell clients."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from sluice.connectivity.facts import ClusterFacts
from sluice.kafka.probing import Prober

_AT_ONCE = 16


def examine(bootstrap: Sequence[str], prober: Prober) -> ClusterFacts:
    """Gather the facts. An address that does not answer takes a few seconds, and holds up no other.

    Args:
        bootstrap: host:port of some brokers.
        prober: examines one address.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        first = tuple(pool.map(prober.probe, bootstrap))
        known = {probe.address: probe for probe in first}
        told = dict.fromkeys(broker.address for probe in first for broker in probe.brokers)
        new = [address for address in told if address not in known]
        advertised = dict(zip(new, pool.map(prober.probe, new), strict=True))
    return ClusterFacts(first, {address: known.get(address) or advertised[address] for address in told})
