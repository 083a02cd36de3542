"""Addresses of records, as people write them."""

from __future__ import annotations

import pytest

from sluice.errors import SpecError
from sluice.tracing.address import RecordAddress, refuse_partition


def test_an_address_is_a_topic_a_partition_and_an_offset() -> None:
    address = RecordAddress.parse("shop.orders-v2/3/1234")
    assert address == RecordAddress("shop.orders-v2", 3, 1234)
    assert (address.key, str(address)) == ("shop.orders-v2/3", "shop.orders-v2/3/1234")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("orders", "'orders' is not the address of a record"),
        ("orders/1", "'orders/1' is not the address of a record"),
        ("/1/2", "'/1/2' is not the address of a record"),
        ("orders/1/2/3", "is not the address of a record"),
        ("orders/one/2", "the partition 'one' is no whole number"),
        ("orders/1/", "the offset '' is no whole number"),
        ("orders/1/٣", "the offset '٣' is no whole number"),
        ("orders/1/-2", "the offset -2 is negative; Kafka counts from 0"),
        ("orders/-1/2", "the partition -1 is negative"),
    ],
)
def test_what_is_no_address_is_refused_with_the_part_that_is_wrong(text: str, fault: str) -> None:
    with pytest.raises(SpecError, match="write TOPIC/PARTITION/OFFSET, such as flights/0/1234") as refusal:
        RecordAddress.parse(text)
    assert fault in str(refusal.value)


def test_a_partition_that_there_is_not_is_refused_with_those_there_are() -> None:
    refuse_partition(RecordAddress("orders", 1, 0), 2)
    with pytest.raises(SpecError, match="orders has the partitions 0 to 1, and not 2"):
        refuse_partition(RecordAddress("orders", 2, 0), 2)
    with pytest.raises(SpecError, match="orders has only the partition 0, and not 2"):
        refuse_partition(RecordAddress("orders", 2, 0), 1)
