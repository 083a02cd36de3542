"""Brokers, and the failure domains that they lie in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Broker:
    """A broker, and its value in each domain: whatever shares a value may fail together."""

    id: int
    domains: Mapping[str, str]


class Topology:
    """The brokers of a cluster, ordered by id. All of them have the same domains.

    Raises:
        ValueError: an id occurs twice, or a broker lacks a domain that another one has.
    """

    def __init__(self, brokers: Iterable[Broker]) -> None:
        self.brokers = tuple(sorted(brokers, key=lambda broker: broker.id))
        self.domains = tuple(sorted({name for broker in self.brokers for name in broker.domains}))
        self.by_id = {broker.id: broker for broker in self.brokers}
        if len(self.by_id) < len(self.brokers):
            raise ValueError("broker ids must be unique")
        if any(len(broker.domains) < len(self.domains) for broker in self.brokers):
            raise ValueError("every broker must have every domain")

    def values(self, domain: str) -> frozenset[str]:
        """Return the values of a domain that there are."""
        return frozenset(broker.domains[domain] for broker in self.brokers)

    def required(self, replication: int) -> Mapping[str, int]:
        """Return the rule: on how many distinct values of each domain so many replicas must lie."""
        return {domain: min(len(self.values(domain)), replication) for domain in self.domains}
