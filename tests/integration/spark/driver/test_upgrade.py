"""A transform that is edited between two attempts: which intervals hold the work of both."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime
from itertools import islice

import pytest
from kafka import KafkaConsumer, TopicPartition

from sluice.delta.log import read_log
from sluice.intervals.entries import AttemptEntry
from sluice.intervals.ledger import State
from sluice.streams.failures.exits import ExitCode
from tests.integration.spark.conftest import DriverPlace


@pytest.mark.verify
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("two_days")
def test_intervals_open_across_an_upgrade_carry_both_hashes_and_later_ones_only_the_new(
    place: DriverPlace,
) -> None:
    own = place.with_own_project()
    spec = own.home / "include" / "pipelines" / "departures.yaml"
    spec.write_text(f"{spec.read_text()}max_records_per_batch: 600\n")
    old = own.project().code_of("departures")
    killed = own.run(failpoint="before_write@departures")
    assert killed.returncode == -9, killed.stdout[-2000:]
    taken = newest_event_taken(own)

    transform = own.home / "spark_jobs" / "transforms" / "departures.py"
    transform.write_text(transform.read_text().replace("DELAYED_FROM_MINUTES = 15", "DELAYED_FROM_MINUTES = 20"))
    new = own.project().code_of("departures")
    upgraded = own.run(generation=2)
    assert upgraded.returncode == ExitCode.STOPPED, upgraded.stdout[-2000:]

    attempts = [e.entry for e in read_log(own.state / "tables" / "departures") if isinstance(e.entry, AttemptEntry)]
    assert [(a.code, a.replaced) for a in attempts] == [(old, None), (new, old)]
    assert attempts[1].mixed_until == taken
    rows = own.project().tables.ledger("departures").rows
    codes = {start: row.base.codes for start, row in rows.items() if row.base is not None}
    mixed = {start for start in codes if start <= taken}
    assert codes == {start: (old, new) if start in mixed else (new,) for start in codes}
    assert 0 < len(mixed) < len(codes)
    assert {row.state(new) for start, row in rows.items() if start in mixed} == {State.STALE}


def newest_event_taken(place: DriverPlace) -> datetime:
    """Return the newest event time below the committed offsets of the stream's checkpoint, by reading Kafka."""
    project = place.project()
    committed = project.streams.checkpoint("departures").newest_committed()
    assert committed is not None
    consumer = KafkaConsumer(bootstrap_servers=list(project.kafka.bootstrap()))
    newest = []
    for name, end in committed.offsets.items():
        partition = TopicPartition("flights", int(name.rpartition("/")[2]))
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        for record in islice(consumer, end):
            with suppress(ValueError, TypeError, KeyError):
                newest.append(datetime.fromisoformat(json.loads(record.value)["scheduled_at"]))
    consumer.close()
    return max(newest)
