"""The machine of `tests.twins.plan_machine` on the twin."""

from __future__ import annotations

from hypothesis import settings

from sluice.clock import Clock
from sluice.topics.administration import KafkaAdministration
from tests.twins.clock import ManualClock
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.plan_machine import RACKS, PlanMachine


class InMemoryPlanMachine(PlanMachine):
    def cluster(self) -> KafkaAdministration:
        found = InMemoryKafkaAdministration(4, RACKS)
        found.polls_per_move = 2
        return found

    def clock(self) -> Clock:
        return ManualClock()


TestPlanMachine = InMemoryPlanMachine.TestCase
TestPlanMachine.settings = settings(stateful_step_count=20, deadline=None)
