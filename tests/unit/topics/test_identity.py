"""What identifies a topic: its id, or its name where the cluster gives none."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.topics.administration import TopicCreation
from sluice.topics.identity import gained_ids, identity, is_by_name
from tests.twins.kafka_administration import InMemoryKafkaAdministration

GIVEN, AGAIN = "6f2c1b1e-8c55-4b0e-9d43-2f1f0b7b9a11", "d1a9f6f0-0f4e-4a83-8a37-52d0f0f1c6e2"
NAMES = st.from_regex(r"[a-zA-Z0-9._-]{1,249}", fullmatch=True)


@given(NAMES, st.uuids(version=4))
def test_an_id_that_the_cluster_gives_is_kept_as_it_is(name: str, given_id: UUID) -> None:
    assert identity(name, given_id) == str(given_id)
    assert not is_by_name(str(given_id))


@given(NAMES, NAMES, st.sampled_from([None, UUID(int=0), str(UUID(int=0))]))
def test_without_one_each_name_has_an_identity_that_fits_everywhere(name: str, other: str, none: UUID | None) -> None:
    found = identity(name, none)
    assert is_by_name(found)
    assert found == identity(name, None)
    assert (found == identity(other, none)) == (name == other)
    assert len(found) <= 64  # of the column of growths
    assert not set(found) & set(":+/")  # by which writers, joined ids and partitions are told apart


def test_a_topic_that_is_created_again_under_its_name_is_the_same_to_a_cluster_without_ids() -> None:
    for ids, same in ((True, False), (False, True)):
        cluster = InMemoryKafkaAdministration(ids=ids)
        cluster.create([TopicCreation("orders", 1, 1)])
        before = cluster.extent("orders").topic_id
        cluster.forget("orders")
        cluster.create([TopicCreation("orders", 1, 1)])
        assert (cluster.extent("orders").topic_id == before) is same


ONE, OTHER = identity("one", None), identity("other", None)


@pytest.mark.parametrize(
    ("before", "now", "gained"),
    [
        (ONE, GIVEN, True),
        (f"{ONE}+{OTHER}", f"{GIVEN}+{AGAIN}", True),
        (f"{ONE}+table", f"{GIVEN}+table", True),
        (ONE, ONE, False),
        (ONE, OTHER, False),
        (GIVEN, ONE, False),
        (GIVEN, AGAIN, False),
        (f"{ONE}+{OTHER}", GIVEN, False),
        (f"{ONE}+{GIVEN}", f"{GIVEN}+{AGAIN}", False),
    ],
)
def test_a_cluster_that_begins_to_give_ids_is_told_apart_from_a_topic_created_again(
    before: str, now: str, *, gained: bool
) -> None:
    assert gained_ids(before, now) is gained
