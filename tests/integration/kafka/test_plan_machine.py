"""The machine of `tests.twins.plan_machine` on a real cluster of four brokers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from sluice.clock import Clock, SystemClock
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.topics.administration import KafkaAdministration
from tests.integration.brokers import RunningCluster, running_cluster
from tests.twins.plan_machine import PlanMachine

pytestmark = [pytest.mark.verify, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster"), 4) as found:
        yield found


def test_whatever_happens_in_whatever_order_the_next_plan_leads_to_what_is_declared(cluster: RunningCluster) -> None:
    with KafkaPythonAdministration(cluster.bootstrap) as administration:

        class RealPlanMachine(PlanMachine):
            def cluster(self) -> KafkaAdministration:
                return administration

            def clock(self) -> Clock:
                return SystemClock()

        run_state_machine_as_test(
            RealPlanMachine,
            settings=settings(
                max_examples=100, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
            ),
        )
