"""How a client reaches a cluster: Kafka's own setting names in, kafka-python's arguments out, and a probe before both.

A kafka-python client that is built before a broker listens backs off for many seconds, and one that picks an address
that does not resolve gives up although others would answer. So every client starts from addresses that just accepted a
TCP connection.
"""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Mapping, Sequence
from typing import Any

import tenacity

from sluice.errors import SpecError, UnreachableError
from sluice.kafka.client.credentials import (
    BY_TOKEN,
    CLIENT_ID,
    CLIENT_SECRET,
    LOGIN_SOURCE,
    TOKEN_AUTHORITIES,
    TOKEN_ENDPOINT,
    TOKEN_SCOPE,
)
from sluice.kafka.client.current_password import CurrentPassword, use_current_passwords
from sluice.kafka.client.tokens import IssuedTokens
from sluice.secrecy.secret_values import SecretSource

logging.getLogger("kafka").setLevel(logging.CRITICAL)  # the client logs as errors what it goes on to retry
use_current_passwords()

_ARGUMENTS = {
    "client.id": "client_id",
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "ssl.ca.location": "ssl_cafile",
    "ssl.truststore.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.keystore.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
    "ssl.key.password": "ssl_password",
}
_NUMBERS = {
    "connections.max.idle.ms": "connections_max_idle_ms",
    "metadata.max.age.ms": "metadata_max_age_ms",
    "request.timeout.ms": "request_timeout_ms",
}
_PRODUCERS_NUMBERS = {"max.request.size": "max_request_size"}
"""kafka-python's other clients do not take them; Java's pass over what is not theirs."""
_JAAS = "sasl.jaas.config"
_HOSTNAME = "ssl.endpoint.identification.algorithm"
_BY_TOKEN = (TOKEN_ENDPOINT, CLIENT_ID, CLIENT_SECRET, TOKEN_SCOPE, TOKEN_AUTHORITIES)
_CREDENTIALS = re.compile(r'\b(username|password)="((?:[^"\\]|\\.)*)"')
_PROBE_SECONDS = 2.0


def client_arguments(client: Mapping[str, str]) -> dict[str, Any]:
    """Return kafka-python's keyword arguments for settings under Kafka's names.

    Raises:
        SpecError: a setting is not known here; all of them at once. Values are not shown, they may be secrets.
    """
    others = {_JAAS, _HOSTNAME, LOGIN_SOURCE, *_BY_TOKEN}
    unknown = sorted(set(client) - set(_ARGUMENTS) - set(_NUMBERS) - set(_PRODUCERS_NUMBERS) - others)
    if unknown:
        raise SpecError(
            f"The Kafka client settings {', '.join(unknown)} are not supported.",
            fix=f"use only {', '.join(sorted([*_ARGUMENTS, _JAAS]))}.",
        )
    arguments: dict[str, Any] = {_ARGUMENTS[name]: value for name, value in client.items() if name in _ARGUMENTS}
    arguments |= {_NUMBERS[name]: int(value) for name, value in client.items() if name in _NUMBERS}
    if client.get(_HOSTNAME) == "":  # Kafka's way to say "do not check the host name"
        arguments["ssl_check_hostname"] = False
    return arguments | _login_arguments(client)


def _login_arguments(client: Mapping[str, str]) -> dict[str, Any]:
    source = SecretSource.of(client[LOGIN_SOURCE]) if LOGIN_SOURCE in client else None
    arguments: dict[str, Any] = {
        f"sasl_plain_{field}": re.sub(r"\\(.)", r"\1", value)
        for field, value in _CREDENTIALS.findall(client.get(_JAAS, ""))
    }
    if source is not None and "sasl_plain_password" in arguments:
        arguments["sasl_plain_password"] = CurrentPassword(arguments["sasl_plain_password"], source)
    if client.get("sasl.mechanism") == BY_TOKEN and TOKEN_ENDPOINT in client:
        arguments["sasl_oauth_token_provider"] = IssuedTokens(
            client[TOKEN_ENDPOINT],
            client[CLIENT_ID],
            CurrentPassword(client[CLIENT_SECRET], source),
            scope=client.get(TOKEN_SCOPE),
            ca=client.get(TOKEN_AUTHORITIES),
        )
    return arguments


def producer_arguments(client: Mapping[str, str]) -> dict[str, Any]:
    """Return kafka-python's keyword arguments for a producer; see `client_arguments`."""
    own = {_PRODUCERS_NUMBERS[name]: int(value) for name, value in client.items() if name in _PRODUCERS_NUMBERS}
    return {**client_arguments(client), **own}


def reachable(bootstrap: Sequence[str]) -> list[str]:
    """Return the addresses that accept a TCP connection now, in the given order.

    Raises:
        UnreachableError: none does; with the reason for each address.
    """
    refusals = {address: _refusal(address) for address in bootstrap}
    open_addresses = [address for address, refusal in refusals.items() if refusal is None]
    if not open_addresses:
        reasons = "; ".join(f"{address}: {refusal}" for address, refusal in refusals.items())
        raise UnreachableError(
            f"No Kafka broker could be reached ({reasons}).",
            fix="start the stack (`sluice up`), or correct `kafka.bootstrap` in the deployment spec.",
        )
    return open_addresses


@tenacity.retry(
    retry=tenacity.retry_if_exception_type(socket.gaierror),  # a name that flickers while containers restart
    stop=tenacity.stop_after_attempt(3),
    wait=tenacity.wait_random_exponential(multiplier=0.2, max=2),
    reraise=True,
)
def _connect(host: str, port: int) -> None:
    socket.create_connection((host, port), timeout=_PROBE_SECONDS).close()


def host_and_port(address: str) -> tuple[str, int]:
    """Return the parts of an address.

    Raises:
        SpecError: it is none.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise SpecError(f"{address!r} is no Kafka address.", fix="write host:port.")
    return host.strip("[]"), int(port)


def _refusal(address: str) -> str | None:
    host, port = host_and_port(address)
    try:
        _connect(host, port)
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__
    return None
