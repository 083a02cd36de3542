"""What is wrong in the two files is told at once: what was found, where, why, and what to do."""

from __future__ import annotations

import json

import pytest

from sluice.errors import SpecError
from sluice.provisioning.placement.document import PlacementFaults, read_placement
from sluice.provisioning.placement.partition import Partition

BROKERS = [{"id": 1, "domains": {"fault": "0"}}, {"id": 2, "domains": {"fault": "1"}}]
TOPOLOGY = {"brokers": BROKERS}
ASSIGNMENT = {"topics": {"t": {"0": [1, 2]}}}


def faults(topology: object = TOPOLOGY, assignment: object = ASSIGNMENT) -> list[str]:
    raw = [item if isinstance(item, bytes) else json.dumps(item).encode() for item in (topology, assignment)]
    try:
        read_placement(("b.json", raw[0]), ("a.json", raw[1]))
    except PlacementFaults as refusal:
        return list(refusal.faults)
    return []


def broker(identity: object, **domains: object) -> dict[str, object]:
    return {"id": identity, "domains": domains}


def test_both_files_are_read() -> None:
    assignment = {
        "topics": {"t": {"0": [1, 2], "1": []}, "u": {"0": []}},
        "replication": {"u": 1},
        "sizes": {"t": {"1": 7}},
    }
    topology, partitions = read_placement(
        ("b", b"\xef\xbb\xbf" + json.dumps(TOPOLOGY).encode()), ("a", json.dumps(assignment).encode())
    )
    assert [(found.id, found.domains) for found in topology.brokers] == [(1, {"fault": "0"}), (2, {"fault": "1"})]
    assert partitions == (
        Partition("t", 0, (1, 2), 2),
        Partition("t", 1, (), 2, 7),
        Partition("u", 0, (), 1),
    )


@pytest.mark.parametrize(
    ("topology", "fault"),
    [
        (b"{", "b.json: is not JSON: Expecting property name"),
        (b"\xff", "b.json: holds a byte that is not UTF-8 (at 0)."),
        (b"[" * 100_000, "b.json: is not JSON: "),
        ([], "b.json: found a list where an object is needed."),
        ({}, "b.json: brokers: found nothing where a list is needed."),
        ({"brokers": {}}, "b.json: brokers: found an object where a list is needed."),
        ({"brokers": []}, "b.json: brokers: the list is empty, so there is nowhere to place a replica."),
        ({"brokers": BROKERS, "racks": 1}, 'b.json: "racks": is no key of this file, and would be ignored.'),
        ({"brokers": [7]}, "b.json: brokers[0]: found 7 where an object is needed."),
        ({"brokers": [{**BROKERS[0], "rack": "a"}]}, 'b.json: brokers[0]: "rack" is no key of a broker'),
        ({"brokers": [broker("1", a="0")]}, 'b.json: brokers[0].id: found the text "1"; an id is a whole number'),
        ({"brokers": [broker(True, a="0")]}, "b.json: brokers[0].id: found true; an id is a whole number from 0."),
        ({"brokers": [broker(-1, a="0")]}, "b.json: brokers[0].id: found -1; an id is a whole number from 0."),
        ({"brokers": [{"id": 1}]}, "b.json: brokers[0].domains: found nothing where an object is needed."),
        ({"brokers": [broker(1, a=3)]}, "b.json: brokers[0].domains.a: found 3; a domain's value is text"),
        ({"brokers": [broker(1, a="")]}, 'b.json: brokers[0].domains.a: found the text ""; a domain\'s value is text'),
        ({"brokers": [broker(1)]}, "b.json: brokers: no broker has a domain, so there is nothing to spread over."),
        (
            {"brokers": [*BROKERS, broker(3, update="0")]},
            "b.json: broker 3: has no fault, and broker 1 has; with which others it fails is not known.",
        ),
        ({"brokers": [*BROKERS, broker(2, fault="9")]}, "b.json: brokers[2].id: broker 2 is also brokers[1]"),
        (
            b'{"brokers": [{"id": 1, "id": 2, "domains": {"fault": "0"}}]}',
            'b.json: brokers[0]: names "id" twice, and one would be lost.',
        ),
    ],
)
def test_a_fault_of_the_topology_is_told(topology: object, fault: str) -> None:
    found = faults(topology)
    assert [text for text in found if text.startswith(fault)], found
    assert all(" Fix: " in text for text in found)


@pytest.mark.parametrize(
    ("assignment", "fault"),
    [
        ({}, "a.json: topics: is missing."),
        ({"topics": []}, "a.json: topics: found a list where an object is needed."),
        ({"topics": {}}, "a.json: topics: has no topic, so there is nothing to place."),
        ({"topics": {"t": {}}}, "a.json: topics.t: has no partition, so there is nothing to place."),
        ({"topics": {"t": [[1, 2]]}}, "a.json: topics.t: found a list where an object is needed."),
        ({"topics": {"t": {"x": [1]}}}, 'a.json: topics.t.x: "x" is no partition; they are numbered from 0.'),
        ({"topics": {"t": {"01": [1]}}}, 'a.json: topics.t.01: "01" is no partition; they are numbered from 0.'),
        ({"topics": {"t": {"0": 1}}}, "a.json: topics.t.0: found 1 where a list of broker ids is needed."),
        ({"topics": {"t": {"0": [1, "2"]}}}, 'a.json: topics.t.0: found the text "2"; a replica is a broker id.'),
        ({"topics": {"t": {"0": [1.0]}}}, "a.json: topics.t.0: found 1.0; a replica is a broker id."),
        ({"topics": {"t": {"0": [1, 1]}}}, "a.json: topics.t.0: [1, 1] names broker 1 twice; it can hold one replica."),
        ({"topics": {"t": {"0": [1, 9, 8]}}}, "a.json: topics.t.0: broker 8, 9 is not in the topology"),
        ({"topics": {"t": {"0": [1, 2, 3]}}}, "a.json: topics.t.0: broker 3 is not in the topology"),
        (
            {**ASSIGNMENT, "replication": {"t": 3}},
            "a.json: topics.t.0: needs 3 replicas, and the topology has 2 brokers.",
        ),
        ({"topics": {"t": {"0": []}}}, "a.json: topics.t.0: the list is empty, and nothing says how many replicas"),
        (
            {"topics": {"t": {"0": list(range(13))}}},
            "a.json: topics.t.0: has 13 replicas; more than 12 are not planned",
        ),
        ({**ASSIGNMENT, "replication": {"u": 3}}, "a.json: replication.u: there is no such topic in this file."),
        ({**ASSIGNMENT, "replication": {"t": 0}}, "a.json: replication.t: found 0; it is a whole number from 1 to 12."),
        ({**ASSIGNMENT, "replication": 3}, "a.json: replication: found 3 where an object is needed."),
        ({**ASSIGNMENT, "sizes": {"t": {"1": 3}}}, "a.json: sizes.t.1: there is no such partition in this file."),
        ({**ASSIGNMENT, "sizes": {"t": {"0": -3}}}, "a.json: sizes.t.0: found -3; a size is a whole number of bytes"),
        ({**ASSIGNMENT, "Topics": {}}, 'a.json: "Topics": is no key of this file, and would be ignored.'),
        (b'{"topics": {"t": {"0": [1], "0": [2]}}}', 'a.json: topics.t: names "0" twice, and one would be lost.'),
    ],
)
def test_a_fault_of_the_assignment_is_told(assignment: object, fault: str) -> None:
    found = faults(assignment=assignment)
    assert [text for text in found if text.startswith(fault)], found
    assert all(" Fix: " in text for text in found)


def test_all_faults_of_both_files_come_at_once() -> None:
    found = faults(
        {"brokers": [broker(1, fault="0"), broker(1, fault="1"), broker(2)]},
        {"topics": {"t": {"0": [1, 1], "1": "x"}}},
    )
    assert len(found) == 4


def test_the_refusal_is_a_spec_error_with_a_line_for_each_fault() -> None:
    with pytest.raises(SpecError, match=r"^2 faults, so nothing was planned:\nb: .*\na: ") as refusal:
        read_placement(("b", b"{"), ("a", b"["))
    assert refusal.value.exit_code == 2
