from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from sluice.errors import SpecError, UnreachableError
from sluice.kafka.client.connection import client_arguments, reachable


@pytest.fixture
def listening() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def silent() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def test_settings_are_written_under_kafkas_names() -> None:
    jaas = r'org.apache.kafka.common.security.scram.ScramLoginModule required username="sluice" password="a\"b=c";'
    assert client_arguments(
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": jaas}
    ) == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "sluice",
        "sasl_plain_password": 'a"b=c',
    }


def test_an_empty_identification_algorithm_turns_the_host_name_check_off() -> None:
    assert client_arguments({"ssl.endpoint.identification.algorithm": ""}) == {"ssl_check_hostname": False}
    assert client_arguments({"ssl.endpoint.identification.algorithm": "https"}) == {}


def test_all_unknown_settings_are_named_and_no_value_is_shown() -> None:
    with pytest.raises(SpecError, match=r"acks, sasl\.password are not supported") as caught:
        client_arguments({"sasl.password": "hunter2", "acks": "0", "client.id": "x"})
    assert "hunter2" not in str(caught.value)


def test_only_addresses_that_accept_a_connection_are_used(listening: str, silent: str) -> None:
    assert reachable([silent, listening]) == [listening]


def test_no_open_address_is_unreachable_with_the_reason(silent: str) -> None:
    with pytest.raises(UnreachableError, match=f"{silent}: Connection refused"):
        reachable([silent])


@pytest.mark.parametrize("wrong", ["kafka", "kafka:", ":9092", "kafka:abc"])
def test_an_address_without_host_or_port_is_refused(wrong: str) -> None:
    with pytest.raises(SpecError, match="host:port"):
        reachable([wrong])
