"""A real MirrorMaker between two real brokers: what is copied, how far it is behind, and where streams would go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from sluice.errors import RefusedError
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.mirrors.configuration import header_of
from sluice.streams.health.health import Health
from sluice.streams.life.launcher import DriverState
from sluice.topics.administration import TopicCreation
from tests.integration.mirroring.mirrored import TwoClusters, send, two_clusters
from tests.matrix.census import Census
from tests.matrix.recording import FaultRecorder

HEADER = header_of("standby")


@pytest.fixture
def clusters(tmp_path: Path) -> Iterator[TwoClusters]:
    with two_clusters(tmp_path) as found:
        yield found


def records(
    bootstrap: str, topic: str = "flights", partitions: int = 4
) -> list[tuple[int, int, bytes, dict[str, bytes]]]:
    """Return (partition, offset, value, headers) of all committed records of a topic."""
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        isolation_level="read_committed",
        consumer_timeout_ms=2_000,
        enable_auto_commit=False,
    )
    consumer.assign([TopicPartition(topic, partition) for partition in range(partitions)])
    consumer.seek_to_beginning()
    found = [(r.partition, r.offset, r.value, dict(r.headers)) for r in consumer]
    consumer.close()
    return found


def test_every_record_is_copied_once_with_its_position_and_the_lag_is_exact(clusters: TwoClusters) -> None:
    send(clusters.source, 0, 40)
    clusters.start()
    clusters.copied()
    send(clusters.source, 40, 4)
    clusters.eventually(lambda: len(records(clusters.target.bootstrap)) == 44, "copied what came meanwhile")

    there = {(p, int(headers[HEADER])): value for p, _, value, headers in records(clusters.target.bootstrap)}
    assert there == {(p, offset): value for p, offset, value, _ in records(clusters.source.bootstrap)}
    verdict, lag = clusters.mirrors.verdict("standby")
    assert (verdict.health, lag is not None and lag.records) == (Health.OK, 0)

    clusters.stop()
    send(clusters.source, 44, 3)
    behind = {each.partition: each.records for each in clusters.mirrors.lag("standby").partitions}
    assert behind == {"flights/0": 1, "flights/1": 1, "flights/2": 1, "flights/3": 0}
    assert all(each.since for each in clusters.mirrors.lag("standby").partitions if each.records)
    assert clusters.mirrors.verdict("standby")[0].health is Health.STOPPED
    report = clusters.failover().rehearse()
    assert sum(end - first for first, end in (span for span in report.lost.values() if span)) == 3
    assert (report.doubles, report.exact) == (0, True)
    (kept,) = (clusters.state / "mirrors" / "standby" / "reports").glob("*.json")
    assert json.loads(kept.read_text())["exact"] is True


@pytest.mark.verify
@pytest.mark.timeout(400)
@pytest.mark.proves("mirror-killed")
def test_kills_lose_and_double_nothing_and_a_dead_source_leaves_what_was_copied(
    clusters: TwoClusters, faults: FaultRecorder
) -> None:
    clusters.start()
    sent = 0
    for _ in range(3):
        send(clusters.source, sent, 2_000)
        sent += 2_000
        clusters.eventually(lambda: bool(records(clusters.target.bootstrap)), "has begun")
        faults.struck(clusters.kill_mirror())
        clusters.start()
    send(clusters.source, sent, 400)
    sent += 400
    clusters.copied()
    faults.recovered()
    found = records(clusters.target.bootstrap)
    faults.counted(Census.of(range(sent), [int(value) for _, _, value, _ in found]), what="records in the copy")
    assert sorted(int(value) for _, _, value, _ in found) == list(range(sent))
    for partition in range(4):
        origins = [int(headers[HEADER]) for p, _, _, headers in found if p == partition]
        assert origins == list(range(sent // 4)), "in order, each once"
    assert clusters.failover().rehearse().exact

    send(clusters.source, sent, 20_000)
    clusters.kill_source()
    clusters.eventually(
        lambda: clusters.mirrors.verdict("standby")[0].health is Health.UNKNOWN, "says that nothing is known"
    )
    clusters.stop()
    report = clusters.failover().rehearse()
    assert report.source
    assert set(report.lost.values()) == {None}
    copied = records(clusters.target.bootstrap)
    for stream in report.streams:
        for name, one in stream.partitions.items():
            partition = int(name.rpartition("/")[2])
            own = [(offset, int(headers[HEADER])) for p, offset, _, headers in copied if p == partition]
            assert (one.at, one.copied, one.waiting) == (own[0][0], own[-1][1] + 1, len(own))
            assert [origin for _, origin in own] == list(range(len(own)))


@pytest.mark.verify
@pytest.mark.timeout(200)
def test_what_was_aborted_is_not_copied_and_no_lag(clusters: TwoClusters) -> None:
    clusters.start()
    producer = KafkaProducer(bootstrap_servers=clusters.source.bootstrap, transactional_id="t", acks="all")
    producer.init_transactions()
    for number, end in ((0, producer.abort_transaction), (1, producer.commit_transaction)):
        producer.begin_transaction()
        producer.send("flights", value=str(number).encode(), partition=0)
        producer.flush()
        end()
    producer.close()
    clusters.eventually(lambda: len(records(clusters.target.bootstrap)) == 1, "has copied what was committed")
    assert [value for _, _, value, _ in records(clusters.target.bootstrap)] == [b"1"]
    (behind,) = (each for each in clusters.mirrors.lag("standby").partitions if each.records)
    assert (behind.partition, behind.records, behind.since) == ("flights/0", 1, None), "a mark, and no record"
    assert clusters.mirrors.verdict("standby")[0].health is Health.OK


@pytest.mark.verify
@pytest.mark.timeout(200)
def test_a_target_that_holds_anything_else_is_refused_and_a_dead_process_is_seen(clusters: TwoClusters) -> None:
    send(clusters.source, 0, 8)
    with KafkaPythonAdministration((clusters.target.bootstrap,), {}) as administration:
        administration.create([TopicCreation("flights", 2, 1)])
        with pytest.raises(RefusedError, match="has 2 partitions in the target, and 4 in the source"):
            clusters.start()
        administration.grow("flights", 4)
    send(clusters.target, 0, 1)
    with pytest.raises(RefusedError, match="partition 0 of flights in the target begins with a record that it has not"):
        clusters.start()
    assert clusters.mirrors.verdict("standby")[0].why.startswith("It was never started")
    assert clusters.mirrors.life("standby").observe().attempt is None

    clusters.mirrors.life("standby").start("test", "all the same")
    clusters.kill_mirror()
    verdict, _ = clusters.mirrors.verdict("standby")
    assert verdict.health is Health.STOPPED
    assert "is started again" in verdict.why
    status = clusters.mirrors.life("standby").observe()
    assert status.report is None or status.report.state is not DriverState.RUNNING


@pytest.mark.verify
@pytest.mark.timeout(200)
def test_a_password_is_in_no_topic_and_in_one_private_file(tmp_path: Path) -> None:
    with two_clusters(tmp_path, secured=True) as clusters:
        admin = clusters.source.admin
        assert admin is not None
        send(clusters.source, 0, 8)
        clusters.start()
        clusters.copied()
        assert sorted(value for _, _, value, _ in records(clusters.target.bootstrap)) == [b"%d" % n for n in range(8)]
        secret = admin.password.encode()
        settings = [value for _, _, value, _ in records(clusters.target.bootstrap, "mm2-configs.local.internal", 1)]
        assert any(b"sasl.jaas.config" in (value or b"") for value in settings)
        assert not [value for value in settings if secret in (value or b"")]
        folder = clusters.state / "mirrors" / "standby"
        assert [file.name for file in folder.rglob("*") if file.is_file() and secret in file.read_bytes()] == [
            "secrets.properties"
        ]
        assert {file.stat().st_mode & 0o077 for file in folder.glob("*.properties")} == {0}
        logs = list((clusters.state / "drivers").rglob("driver.log"))
        assert logs
        assert not [log for log in logs if secret in log.read_bytes()]
