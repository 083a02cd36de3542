"""Why a broker does not let a client in.

kafka-python loses the answer: the broker ends the connection as it gives it, and all that is left is a timeout. So when
one has run out, the broker is asked again, without the client and by nothing but the login itself.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence

from kafka.errors import IllegalSaslStateError, KafkaError, NoError, UnsupportedSaslMechanismError, for_code
from kafka.net.sasl import get_sasl_mechanism
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from sluice.errors import UnreachableError
from sluice.kafka.client.connection import client_arguments, host_and_port
from sluice.kafka.client.conversation import Conversation

_SECONDS = 3.0
_ANY_MECHANISM = "SCRAM-SHA-512"
_UNENCRYPTED = ("PLAINTEXT", "SASL_PLAINTEXT")
_BY_PASSWORD = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


class LoginRefusedError(UnreachableError):
    """A broker answers, and lets this client not in."""


def refuse_login(bootstrap: Sequence[str], client: Mapping[str, str]) -> None:
    """Raise if the first broker that answers says that it does not let a client in. Over TLS, none is asked.

    Raises:
        LoginRefusedError: it says so; with its reason, and without the password.
    """
    if client.get("security.protocol", "PLAINTEXT") not in _UNENCRYPTED:
        return
    for address in bootstrap:
        try:
            why = _refusal(address, client)
        except (OSError, KafkaError):  # it is not the login that fails
            continue
        if why:
            raise LoginRefusedError(
                f"Kafka at {address} does not let us in: {why}.",
                fix="correct the client's user, password and mechanism. A user that include/access declares is made by "
                "the DAG `topics`; the embedded cluster's administrator is in kafka/admin.properties of the state "
                "folder.",
            )
        return


def _refusal(address: str, client: Mapping[str, str]) -> str:
    """Return why this broker refuses the client; empty if it does not."""
    with socket.create_connection(host_and_port(address), timeout=_SECONDS) as connection:
        return login_refusal(Conversation(connection), client)


def login_refusal(conversation: Conversation, client: Mapping[str, str]) -> str:
    """Log in, and return why the broker refuses; empty if it does not.

    Raises:
        OSError: the connection ended, or nothing came in time.
        KafkaError: what came is no answer.
    """
    named = client.get("security.protocol", "PLAINTEXT").startswith("SASL_")
    mechanism = client.get("sasl.mechanism", _ANY_MECHANISM) if named else _ANY_MECHANISM
    answer = conversation.ask(SaslHandshakeRequest(version=1, mechanism=mechanism))
    error = for_code(answer.error_code)
    if error is IllegalSaslStateError:
        return "it does not authenticate clients, and the client names a user" if named else ""
    if error not in (NoError, UnsupportedSaslMechanismError):
        return ""
    offered = ", ".join(sorted(answer.mechanisms))
    if not named:
        return f"it requires a login ({offered}), and the client names no user"
    if error is UnsupportedSaslMechanismError:
        return f"it knows {offered}, and the client wants {mechanism}"
    return _login(conversation, mechanism, client) if mechanism in _BY_PASSWORD else ""


def _login(conversation: Conversation, mechanism: str, client: Mapping[str, str]) -> str:
    arguments = client_arguments(client)
    if not {"sasl_plain_username", "sasl_plain_password"} <= arguments.keys():
        return "it requires a login, and the client's `sasl.jaas.config` has no username with a password"
    user = arguments["sasl_plain_username"]
    dialogue = get_sasl_mechanism(mechanism)(**arguments)
    while not dialogue.is_done():
        answer = conversation.ask(SaslAuthenticateRequest(version=1, auth_bytes=dialogue.auth_bytes()))
        if answer.error_code:
            return f"it refuses the user {user!r} ({answer.error_message or for_code(answer.error_code).__name__})"
        dialogue.receive(answer.auth_bytes)
    return ""
