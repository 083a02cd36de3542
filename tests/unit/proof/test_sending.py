"""What is sent is in the journal first, in order, with the answer that came; the traffic ends when it is told to."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sluice.clock import SystemClock
from sluice.errors import UnreachableError
from sluice.launch.processes import wait_until
from sluice.proof.generation.made import MadeRecord, RecordFate
from sluice.proof.journal import SendOutcome
from sluice.proof.running.sending import CLOSING, KEYS, ProofSender, checksum
from sluice.proof.running.traffic import Traffic
from sluice.topics.records import RecordPosition


@dataclass
class Answer:
    position: RecordPosition | None

    def done(self) -> bool:
        return True

    def wait(self) -> RecordPosition:
        if self.position is None:
            raise UnreachableError("it was given up.")
        return self.position


@dataclass
class Broker:
    """Takes records, refuses some, and is silent about others."""

    refuses: frozenset[bytes] = frozenset()
    silent: frozenset[bytes] = frozenset()
    taken: list[bytes] = field(default_factory=list)

    def send(self, key: bytes | None, value: bytes, partition: int | None = None) -> Answer:
        _ = key
        if value in self.refuses:
            raise UnreachableError("it is full.")
        self.taken.append(value)
        place = RecordPosition(partition or 0, len(self.taken) - 1)
        return Answer(None if value in self.silent else place)


def test_every_outcome_is_in_the_journal(tmp_path: Path) -> None:
    broker = Broker(frozenset({b"1"}), frozenset({b"2"}))
    with ProofSender({"t": (broker,)}, tmp_path / "journal", lambda: 5.0) as sender:
        for number in range(3):
            sender.send("t", MadeRecord(b"%d" % number))
        sender.send("t", MadeRecord(b"end"), CLOSING, partition=0)
        sender.collect(wait=True)
        journal = sender.journal()
    outcomes = [SendOutcome.ACKNOWLEDGED, SendOutcome.FAILED, SendOutcome.UNKNOWN, SendOutcome.ACKNOWLEDGED]
    assert [sent.outcome for sent in journal] == outcomes
    assert [sent.checksum for sent in journal] == [checksum(value) for value in (b"0", b"1", b"2", b"end")]
    assert [sent.key for sent in journal] == ["key-0", "key-1", "key-2", CLOSING]
    assert list(journal.faults()) == []
    assert sender.positions["t"] == {sent.position: sent.id for sent in journal.acknowledged}


def test_each_key_has_one_producer_and_its_own_order(tmp_path: Path) -> None:
    brokers = (Broker(), Broker())
    with ProofSender({"t": brokers}, tmp_path / "journal", lambda: 5.0) as sender:
        for number in range(3 * KEYS):
            sender.send("t", MadeRecord(b"%d" % number))
        sender.collect(wait=True)
        journal = sender.journal()
    assert list(journal.faults()) == []
    assert [len(broker.taken) for broker in brokers] == [3 * KEYS // 2] * 2
    assert {sent.sequence for sent in journal} == {0, 1, 2}


def test_a_record_is_in_the_file_before_it_is_sent(tmp_path: Path) -> None:
    file, seen = tmp_path / "journal", list[int]()

    class Looks(Broker):
        def send(self, key: bytes | None, value: bytes, partition: int | None = None) -> Answer:
            seen.append(len(file.read_text(encoding="utf-8").splitlines()))
            return super().send(key, value, partition)

    with ProofSender({"t": (Looks(),)}, file, lambda: 5.0) as sender:
        for number in range(3):
            sender.send("t", MadeRecord(b"%d" % number))
    assert seen == [1, 2, 3]


def test_two_records_with_the_same_bytes_could_not_be_told_apart(tmp_path: Path) -> None:
    with ProofSender({"t": (Broker(),)}, tmp_path / "journal", lambda: 5.0) as sender:
        sender.send("t", MadeRecord(b"1"))
        with pytest.raises(ValueError, match="two records"):
            sender.send("t", MadeRecord(b"1"))


def test_traffic_keeps_its_rate_and_its_end(tmp_path: Path) -> None:
    broker = Broker()
    with ProofSender({"t": (broker,)}, tmp_path / "journal", time.time) as sender:
        traffic = Traffic(
            sender, lambda number: ("t", MadeRecord(b"%d" % number, RecordFate.LATE)), rate=1_000, most=100
        )
        traffic.start()
        assert wait_until(lambda: sender.sent == 100, SystemClock(), deadline_seconds=20)
        assert traffic.seconds >= 0.099
        traffic.stop()
        assert sender.journal().count(SendOutcome.ACKNOWLEDGED) == 100 == len(broker.taken)
        assert {sent.fate for sent in sender.journal()} == {RecordFate.LATE}


def test_what_ends_the_traffic_is_raised_where_it_is_waited_for(tmp_path: Path) -> None:
    with ProofSender({"t": (Broker(),)}, tmp_path / "journal", time.time) as sender:
        traffic = Traffic(sender, lambda _: ("t", MadeRecord(b"always the same")), rate=1_000, most=100)
        traffic.start()
        with pytest.raises(ValueError, match="two records"):
            wait_until(lambda: bool(traffic.refuse_failed()), SystemClock(), deadline_seconds=20)
        with pytest.raises(ValueError, match="two records"):
            traffic.stop()


def test_topics_have_producers_and_keys_of_their_own_and_one_journal(tmp_path: Path) -> None:
    brokers = {"a": (Broker(), Broker()), "b": (Broker(), Broker())}
    with ProofSender(brokers, tmp_path / "journal", lambda: 5.0) as sender:
        for number in range(2 * KEYS):
            for topic in brokers:
                sender.send(topic, MadeRecord(b"%d" % number, RecordFate.QUARANTINED, "malformed"))
        sender.collect(wait=True)
        journal = sender.journal()
    assert list(journal.faults()) == []
    assert {sent.producer for sent in journal.of("a")} == {"p0", "p1"}
    assert {sent.producer for sent in journal.of("b")} == {"p2", "p3"}
    assert [len(journal.of(topic)) for topic in ("a", "b", "c", "")] == [2 * KEYS, 2 * KEYS, 0, 4 * KEYS]
    assert [sender.values[topic][b"3"] for topic in brokers] == ["p1-1", "p3-1"]
    assert sender.ids == [sent.id for sent in journal]
    assert {(sent.reason, sent.topic) for sent in journal} == {("malformed", "a"), ("malformed", "b")}
    assert sender.sent_to("a") == 2 * KEYS
