"""The machine of `tests.twins.plan_machine` on a real cluster of four brokers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from sluice.clock import Clock, SystemClock
from sluice.errors import UnreachableError
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.topics.administration import KafkaAdministration, TopicState
from tests.integration.brokers import RunningCluster, running_cluster
from tests.matrix.recording import FaultRecorder
from tests.twins.plan_machine import PlanMachine
from tests.waiting import eventually

pytestmark = [pytest.mark.verify, pytest.mark.timeout(1800)]

ALIKE = 8
"""Answers, of brokers that the client picks at random."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster"), 4) as found:
        yield found


class SteadyAdministration(KafkaPythonAdministration):
    """Describes a topic once the brokers agree: each of the four learns of a change at a moment of its own."""

    def describe(self, names: Iterable[str]) -> Mapping[str, TopicState]:
        """Return what so many answers in a row say."""
        wanted, answers = list(names), list[Mapping[str, TopicState]]()

        def agreed() -> bool:
            try:
                answers[:] = [super(SteadyAdministration, self).describe(wanted) for _ in range(ALIKE)]
            except UnreachableError:  # one lists a topic that another does not know any more
                return False
            return answers == answers[:1] * ALIKE

        eventually(agreed, "the brokers do not agree")
        return answers[0]


@pytest.mark.proves("planner-killed")
def test_whatever_happens_in_whatever_order_the_next_plan_leads_to_what_is_declared(
    cluster: RunningCluster, faults: FaultRecorder
) -> None:
    died: list[str] = []
    with SteadyAdministration(cluster.bootstrap) as administration:

        class RealPlanMachine(PlanMachine):
            def cluster(self) -> KafkaAdministration:
                return administration

            def clock(self) -> Clock:
                return SystemClock()

            def deaths(self) -> None:
                died.append(self.prefix)

        run_state_machine_as_test(
            RealPlanMachine,
            settings=settings(
                max_examples=100, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
            ),
        )
    if died:
        faults.struck(f"{len(died)} applies died before one of their calls")
    faults.compared("topics of the cluster with what is declared")
