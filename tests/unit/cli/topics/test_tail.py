"""Where `sluice topics tail` begins; what it shows is tested in test_newest, test_follow and test_record_view."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sluice.cli.terminal.output import Output
from sluice.cli.topics.tail import RecordPrinter, choose, first_offsets
from sluice.errors import SpecError
from sluice.topics.administration import TopicCreation, TopicExtent
from sluice.topics.records import Record
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.twins.topic_records import NOON


@pytest.fixture
def cluster() -> InMemoryKafkaAdministration:
    cluster = InMemoryKafkaAdministration()
    cluster.create([TopicCreation("flights", 2, 1), TopicCreation("flighty", 1, 1), TopicCreation("__own", 1, 1)])
    for partition in (0, 1):
        cluster.append("flights", partition, [NOON + timedelta(hours=hour) for hour in range(10)])
    cluster.trim("flights", 0, 4)
    return cluster


def begin(cluster: InMemoryKafkaAdministration, since: str, partition: int | None = None) -> dict[int, int]:
    return dict(first_offsets(cluster, choose(cluster, "flights", partition), "flights", since))


def test_the_edges_are_those_of_the_topic(cluster: InMemoryKafkaAdministration) -> None:
    assert begin(cluster, "earliest") == {0: 4, 1: 0}
    assert begin(cluster, "latest") == {0: 10, 1: 10}
    assert begin(cluster, "earliest", 0) == {0: 4}


@pytest.mark.parametrize("since", ["2013-01-07T17:00:00Z", "2013-01-07T17:00", "2013-01-07T18:00+01:00"])
def test_a_time_is_utc_unless_it_says_otherwise(cluster: InMemoryKafkaAdministration, since: str) -> None:
    assert begin(cluster, since) == {0: 5, 1: 5}
    assert begin(cluster, since, 1) == {1: 5}


def test_an_offset_is_one_of_a_partition(
    cluster: InMemoryKafkaAdministration, capsys: pytest.CaptureFixture[str]
) -> None:
    assert begin(cluster, "7", 1) == {1: 7}
    assert begin(cluster, "10", 1) == {1: 10}
    assert capsys.readouterr().err == ""
    assert begin(cluster, "2", 0) == {0: 4}
    assert "no longer has the offset 2; it begins at 4" in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize(
    ("since", "partition", "why"),
    [
        ("7", None, "choose one with --partition"),
        ("11", 1, "its next record gets the offset 10"),
        ("yesterday", None, "'yesterday' is not a position"),
        ("-1", 0, "'-1' is not a position"),
        ("2013-13-01", None, "write an offset, a time in UTC"),
        ("\u0663", 0, "is not a position"),
    ],
)
def test_what_is_no_place_to_begin_is_refused(
    cluster: InMemoryKafkaAdministration, since: str, partition: int | None, why: str
) -> None:
    with pytest.raises(SpecError) as refused:
        begin(cluster, since, partition)
    assert why in str(refused.value)


def test_an_unknown_partition_is_refused(cluster: InMemoryKafkaAdministration) -> None:
    with pytest.raises(SpecError, match=r"flights has no partition 2.*0 to 1"):
        choose(cluster, "flights", 2)


@pytest.mark.parametrize(
    ("topic", "fix"),
    [
        ("flight", "did you mean 'flighty' or 'flights'?"),
        ("zzz", "there are flights, flighty."),
        ("no such\x1b name", "there are flights, flighty."),
    ],
)
def test_an_unknown_topic_is_refused_with_suggestions(
    cluster: InMemoryKafkaAdministration, topic: str, fix: str
) -> None:
    with pytest.raises(SpecError) as refused:
        choose(cluster, topic, None)
    assert fix in str(refused.value)
    assert "\x1b" not in str(refused.value)


def test_of_one_partition_nothing_else_is_known(cluster: InMemoryKafkaAdministration) -> None:
    whole = cluster.extent("flights")
    assert choose(cluster, "flights", None) == whole
    assert choose(cluster, "flights", 1) == TopicExtent(whole.topic_id, {1: 0}, {1: 10})


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_there_are_no_colours_without_a_terminal_or_with_no_color(
    environment: dict[str, str],
    coloured: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    RecordPrinter("flights", Output.TABLE, None).records([Record(0, 1, NOON, False, b"key", b"v" * 400)])
    printed = capsys.readouterr().out
    assert ("\x1b[36m" in printed) == coloured
    assert printed.count("\n") == 1
