"""What a growth of a topic touches, told of streams that have read it."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import pytest

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.newest_keys import KafkaPythonKeyReader
from sluice.project.project import Project
from sluice.provisioning.plans.topic_changes import grow
from sluice.settings import Settings


@pytest.mark.verify
def test_checkpoints_show_positions_and_state_and_the_impact_is_told(
    broker: BrokerProcess, drained_state: Path
) -> None:
    project = Project.open_strict(Settings(state=drained_state))
    with KafkaPythonAdministration([broker.bootstrap]) as administration:
        ends = {f"flights/{partition}": end for partition, end in administration.ends("flights").items()}
        assert project.streams.positions("flights") == dict.fromkeys(
            ("departures", "departures_live", "raw_flights"), ends
        )
        state = administration.describe(["flights"])["flights"]
        checked = chain(*KafkaPythonKeyReader(administration).newest_keys("flights", 10_000).keys.values())
        impact = project.topics.impact_analysis(administration, now=datetime.now(UTC)).impact(
            grow("flights", 4, 8), state
        )
    shown = {stream: project.streams.keeps_state(stream) for stream in ("departures", "departures_live", "raw_flights")}
    assert shown == {"departures": False, "departures_live": True, "raw_flights": False}
    assert impact is not None
    said = "; ".join(impact.clauses)
    carriers = {key for key in checked if key is not None}
    assert f"of {len(carriers)} keys" in said
    assert "placed by murmur2" in said
    assert f"flights/0 at {ends['flights/0']:,}" in said
    assert "departures_live reads it and keeps state" in said
    assert "departures reads it and keeps no state" in said
