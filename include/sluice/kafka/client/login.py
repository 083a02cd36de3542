"""Why a broker does not let a client in.

kafka-python loses the answer: the broker ends the connection as it gives it, and all that is left is a timeout. So when
one has run out, the broker is asked again, without the client and by nothing but the login itself.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka.errors import IllegalSaslStateError, KafkaError, NoError, UnsupportedSaslMechanismError, for_code
from kafka.net.sasl import get_sasl_mechanism
from kafka.net.transport import KafkaSSLTransport
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from sluice.errors import UnreachableError
from sluice.kafka.client.connection import client_arguments, host_and_port
from sluice.kafka.client.conversation import Conversation, SpeaksTlsError
from sluice.kafka.client.credentials import BY_TOKEN

_SECONDS = 3.0
_ANY_MECHANISM = "SCRAM-SHA-512"
_NAMED = ("SASL_PLAINTEXT", "SASL_SSL")
_ENCRYPTED = ("SSL", "SASL_SSL")
_BY_PASSWORD = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_WHO = (
    "correct the client's user, password and mechanism. A user that include/access declares is made by the DAG "
    "`topics`; the embedded cluster's administrator is in kafka/admin.properties of the state folder."
)
_HOW = "correct `tls` and `bootstrap` in the deployment; an embedded cluster is brought up again by `sluice up`."


class LoginRefusedError(UnreachableError):
    """A broker answers, and lets this client not in."""


class LoginRefusal(NamedTuple):
    """Why a broker does not let a client in, a clause without an end, and what to do."""

    why: str
    fix: str = _WHO


def refuse_login(bootstrap: Sequence[str], client: Mapping[str, str]) -> None:
    """Raise if the first broker that answers says that it does not let a client in, or if TLS with it fails.

    Raises:
        LoginRefusedError: it says so; with its reason, and without the password.
        TokenRefusedError: it is not asked, because the issuer gives no token.
    """
    for address in bootstrap:
        try:
            refusal = _refusal(address, client)
        except (OSError, KafkaError):  # it is not the login that fails
            continue
        if refusal:
            raise LoginRefusedError(f"Kafka at {address} does not let us in: {refusal.why}.", fix=refusal.fix)
        return


def _refusal(address: str, client: Mapping[str, str]) -> LoginRefusal | None:
    """Return why this broker refuses the client; None if it does not."""
    encrypted = client.get("security.protocol") in _ENCRYPTED
    with socket.create_connection(host_and_port(address), timeout=_SECONDS) as plain:
        if not encrypted:
            return login_refusal(Conversation(plain), client)
        try:
            with tls_context(client).wrap_socket(plain, server_hostname=host_and_port(address)[0]) as connection:
                return login_refusal(Conversation(connection), client)
        except ssl.SSLCertVerificationError as error:
            return LoginRefusal(f"the certificate that it shows does not count ({error.verify_message})", _HOW)
        except ssl.SSLEOFError:
            return LoginRefusal("it ends the connection where TLS begins, as one does that is not encrypted", _HOW)
        except ssl.SSLError as error:
            return LoginRefusal(f"TLS fails ({error.reason}), {_shown(client)}", _HOW)


def _shown(client: Mapping[str, str]) -> str:
    """Return what is to be known of the client's own certificate, about which most alerts of brokers are."""
    file = client.get("ssl.certificate.location", client.get("ssl.keystore.location"))
    return f"and the client shows the certificate in {file}" if file else "and the client shows no certificate"


def tls_context(client: Mapping[str, str]) -> ssl.SSLContext:
    """Return the very context of kafka-python's connections."""
    defaults = KafkaSSLTransport.DEFAULT_CONFIG
    own = {name: value for name, value in client_arguments(client).items() if name in defaults}
    context: ssl.SSLContext = KafkaSSLTransport._build_ssl_context({**defaults, **own})  # noqa: SLF001 - the same one
    return context


def login_refusal(conversation: Conversation, client: Mapping[str, str]) -> LoginRefusal | None:
    """Log in, and return why the broker refuses; None if it does not.

    Raises:
        OSError: the connection ended, or nothing came in time.
        KafkaError: what came is no answer.
    """
    named = client.get("security.protocol") in _NAMED
    mechanism = client.get("sasl.mechanism", _ANY_MECHANISM) if named else _ANY_MECHANISM
    try:
        answer = conversation.ask(SaslHandshakeRequest(version=1, mechanism=mechanism))
    except SpeaksTlsError:
        return LoginRefusal("it is encrypted, and the client is not", _HOW)
    error = for_code(answer.error_code)
    if error is IllegalSaslStateError:
        return LoginRefusal("it does not authenticate clients, and the client names a user") if named else None
    if error not in (NoError, UnsupportedSaslMechanismError):
        return None
    offered = ", ".join(sorted(answer.mechanisms))
    if not named:
        return LoginRefusal(f"it requires a login ({offered}), and the client names no user")
    if error is UnsupportedSaslMechanismError:
        return LoginRefusal(f"it knows {offered}, and the client wants {mechanism}")
    return _login(conversation, mechanism, client) if mechanism in (*_BY_PASSWORD, BY_TOKEN) else None


def _login(conversation: Conversation, mechanism: str, client: Mapping[str, str]) -> LoginRefusal | None:
    arguments = client_arguments(client)
    if mechanism == BY_TOKEN and "sasl_oauth_token_provider" not in arguments:
        return LoginRefusal("it requires a token, and the client does not say who issues one")
    if mechanism != BY_TOKEN and not {"sasl_plain_username", "sasl_plain_password"} <= arguments.keys():
        return LoginRefusal("it requires a login, and the client's `sasl.jaas.config` has no username with a password")
    user = arguments.get("sasl_plain_username")
    whom = "the token" if user is None else f"the user {user!r}"
    dialogue = get_sasl_mechanism(mechanism)(**arguments)
    while not dialogue.is_done():
        answer = conversation.ask(SaslAuthenticateRequest(version=1, auth_bytes=dialogue.auth_bytes()))
        if answer.error_code:
            return LoginRefusal(f"it refuses {whom} ({answer.error_message or for_code(answer.error_code).__name__})")
        dialogue.receive(answer.auth_bytes)
    return None
