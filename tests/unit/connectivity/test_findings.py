"""What facts about addresses mean: each fault is named where it is, with what to do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.connectivity.facts import AdvertisedBroker, ClockReading, ClusterFacts, Contact, Probe
from sluice.connectivity.findings import MAX_CLOCK_SECONDS, KafkaFinding, diagnose

FAR = ("10.0.0.7",)
HERE = ("127.0.0.1", "::1")


def answers(address: str, *brokers: tuple[int, str], cluster: str = "one", at: tuple[str, ...] = FAR) -> Probe:
    named = tuple(AdvertisedBroker(*broker) for broker in brokers)
    return Probe(address, Contact.KAFKA, resolved=at, reached=at[0], cluster=cluster, brokers=named)


def findings(*bootstrap: Probe, **advertised: Probe) -> dict[str, KafkaFinding]:
    found = diagnose(ClusterFacts(bootstrap, {probe.address: probe for probe in advertised.values()}))
    assert len({finding.where for finding in found}) == len(found)
    return {finding.where: finding for finding in found}


def test_a_cluster_that_is_reached_everywhere_has_no_fault() -> None:
    one = answers("kafka-1:9092", (1, "kafka-1:9092"), (2, "kafka-2:9092"))
    found = findings(one, one=one, two=answers("kafka-2:9092"))
    assert all(finding.ok and finding.fix == "" for finding in found.values())
    assert list(found) == ["kafka-1:9092", "broker 1 (kafka-1:9092)", "broker 2 (kafka-2:9092)", "clock"]
    assert found["kafka-1:9092"].found == "Kafka answers, cluster one, 2 brokers"


@pytest.mark.parametrize("contact", [contact for contact in Contact if contact is not Contact.KAFKA])
def test_every_way_not_to_reach_kafka_is_a_fault_with_a_fix(contact: Contact) -> None:
    probe = Probe("kafka-2:9092", contact, "as seen")
    alone = findings(probe)["kafka-2:9092"]
    assert not alone.ok
    assert alone.found == f"{contact}: as seen"
    assert alone.fix.endswith(".")
    told = findings(answers("kafka-1:9092", (2, "kafka-2:9092")), two=probe)["broker 2 (kafka-2:9092)"]
    assert not told.ok
    assert "it tells clients to connect there" in told.found
    assert told.fix.endswith(".")


@pytest.mark.parametrize(
    ("contact", "blamed"),
    [
        (Contact.UNRESOLVED, "or have kafka-2 resolve on this machine"),
        (Contact.TIMEOUT, "or open the way from this machine to it"),
        (Contact.REFUSED, "or start what should listen there"),
    ],
)
def test_an_advertised_address_is_blamed_on_the_brokers_listener(contact: Contact, blamed: str) -> None:
    probe = Probe("kafka-2:9092", contact)
    fix = findings(answers("kafka-1:9092", (2, "kafka-2:9092")), two=probe)["broker 2 (kafka-2:9092)"].fix
    assert fix.startswith("set advertised.listeners of broker 2")
    assert blamed in fix


def test_a_broker_elsewhere_that_advertises_this_machine_is_a_fault_even_if_something_answers_here() -> None:
    told = answers("kafka:9092", (1, "localhost:9092"))
    for here in (
        answers("localhost:9092", at=HERE, cluster="two"),
        answers("localhost:9092", at=HERE, cluster=""),
        Probe("localhost:9092", Contact.REFUSED, resolved=HERE),
    ):
        found = findings(told, here=here)["broker 1 (localhost:9092)"]
        assert not found.ok
        assert "which is this machine and not the broker's" in found.found


def test_a_broker_on_this_machine_that_is_reached_by_another_name_is_well_from_here_only() -> None:
    told = answers("kafka:9092", (1, "localhost:9092"))
    found = findings(told, here=answers("localhost:9092", at=HERE))["broker 1 (localhost:9092)"]
    assert found.ok
    assert "from this machine only" in found.found


def test_a_broker_on_this_machine_may_advertise_it() -> None:
    here = answers("127.0.0.1:9092", (1, "localhost:9092"), at=HERE)
    assert findings(here, there=answers("localhost:9092", at=HERE))["broker 1 (localhost:9092)"].ok


def test_an_advertised_address_of_another_cluster_is_a_fault() -> None:
    other = answers("kafka-2:9092", cluster="two")
    found = findings(answers("kafka-1:9092", (2, "kafka-2:9092")), other=other)["broker 2 (kafka-2:9092)"]
    assert not found.ok
    assert found.found == "another cluster answers there: two, and kafka-1:9092 is of one"


def test_two_brokers_with_one_address_are_a_fault_of_both() -> None:
    proxy = answers("proxy:9092", (1, "proxy:9092"), (2, "proxy:9092"))
    found = findings(proxy, proxy=proxy)
    assert [finding.ok for where, finding in found.items() if where.startswith("broker")] == [False, False]


def test_addresses_of_two_clusters_in_one_deployment_are_a_fault() -> None:
    found = findings(answers("a:1", cluster="one"), answers("b:1", cluster="two"))["cluster"]
    assert found.found == "a:1: cluster one; b:1: cluster two"
    assert not found.ok


@given(st.floats(-1e6, 1e6), st.floats(0, 100))
def test_a_clock_is_wrong_only_if_it_is_beyond_what_the_question_took(ahead: float, error: float) -> None:
    probe = Probe("kafka:9092", Contact.KAFKA, resolved=FAR, reached=FAR[0], clock=ClockReading(ahead, error))
    found = findings(probe)["clock"]
    assert found.ok == (abs(ahead) - error <= MAX_CLOCK_SECONDS)
    assert ("ahead of" in found.found) == (ahead > 0)


def test_the_most_exact_reading_of_a_clock_counts() -> None:
    vague = Probe("a:1", Contact.KAFKA, resolved=FAR, reached=FAR[0], clock=ClockReading(60, 60))
    exact = Probe("b:1", Contact.KAFKA, resolved=FAR, reached=FAR[0], clock=ClockReading(60, 0.1))
    assert not findings(vague, exact)["clock"].ok
    assert findings(vague)["clock"].ok


def test_a_clock_that_nobody_tells_is_no_fault_and_is_said() -> None:
    assert findings(answers("kafka:9092"))["clock"].found.startswith("not compared")
    assert "clock" not in findings(Probe("kafka:9092", Contact.REFUSED))


HOSTS = st.sampled_from(["a:1", "b:2", "localhost:3"])
PROBES = st.builds(
    Probe,
    address=HOSTS,
    contact=st.sampled_from(Contact),
    detail=st.text(max_size=5),
    resolved=st.sampled_from([(), FAR, HERE]),
    reached=st.sampled_from(["", "10.0.0.7", "127.0.0.1"]),
    cluster=st.sampled_from(["", "one", "two"]),
    brokers=st.lists(st.builds(AdvertisedBroker, st.integers(0, 3), HOSTS), max_size=4).map(tuple),
    clock=st.none() | st.builds(ClockReading, st.floats(-99, 99), st.floats(0, 9)),
)


@given(st.lists(PROBES, min_size=1, max_size=4), st.lists(PROBES, max_size=4))
def test_whatever_is_seen_every_address_and_every_broker_is_judged(first: list[Probe], told: list[Probe]) -> None:
    found = diagnose(ClusterFacts(tuple(first), {probe.address: probe for probe in told}))
    wheres = [finding.where for finding in found]
    assert wheres[: len(first)] == [probe.address for probe in first]
    for broker in {broker for probe in first for broker in probe.brokers}:
        assert wheres.count(f"broker {broker.node} ({broker.address})") == 1
    for finding in found:
        assert finding.found
        assert finding.ok == (finding.fix == "")
    for finding, probe in zip(found, first, strict=False):
        assert finding.ok == (probe.contact is Contact.KAFKA)
