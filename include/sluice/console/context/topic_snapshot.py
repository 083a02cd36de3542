"""What the console shows of topics: how they are, how they differ from the specs, and where their replicas lie."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice.provisioning.apply import current_plan
from sluice.provisioning.plans.changes import PlannedChange, Refused
from sluice.provisioning.plans.plan import Plan
from sluice.topics.description import Description, described

if TYPE_CHECKING:
    from sluice.project.project import Project

_PATIENCE_SECONDS = 5


@dataclass(frozen=True)
class TopicSnapshot:
    """The topics at one moment.

    Attributes:
        plan: the difference between the specs and the cluster.
        differing: the differences by topic or principal; without what is transient.
        descriptions: the declared topics that exist, by name.
        domains: the rack of each broker; empty where it has none.
    """

    plan: Plan
    differing: Mapping[str, Sequence[PlannedChange | Refused]]
    descriptions: Mapping[str, Description]
    domains: Mapping[int, str]

    def spread(self, topic: str) -> Mapping[str, int]:
        """Return how many replicas of a topic lie in each domain, or on each broker where brokers have none."""
        counts: dict[str, int] = defaultdict(int)
        for replicas in self.descriptions[topic].state.replicas:
            for broker in replicas:
                counts[self.domains.get(broker) or f"broker {broker}"] += 1
        return dict(sorted(counts.items()))


def take_topic_snapshot(project: Project) -> TopicSnapshot:
    """Compare the specs with the cluster, and describe it. Changes nothing.

    Raises:
        SluiceError: it cannot be asked.
    """
    with project.kafka.administration(patience_seconds=_PATIENCE_SECONDS) as administration:
        plan = current_plan(project.topics.declared(), administration, project.topics.access())
        names = sorted(project.catalog.kafka_topics())
        descriptions = {each.state.name: each for each in described(project.catalog, administration, names)}
        domains = {broker.id: broker.rack or "" for broker in administration.cluster()}
    differing: dict[str, list[PlannedChange | Refused]] = defaultdict(list)
    for each in plan.differences:
        differing[each.subject].append(each)
    return TopicSnapshot(plan, differing, descriptions, domains)
