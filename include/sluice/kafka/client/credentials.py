"""A user and a password as settings of a client, under Kafka's names: what Java and Python read alike."""

from __future__ import annotations

from collections.abc import Mapping

_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_SECURED = {"PLAINTEXT": "SASL_PLAINTEXT", "SSL": "SASL_SSL"}


def as_user(client: Mapping[str, str], user: str, password: str, mechanism: str) -> dict[str, str]:
    """Return client settings that connect as a user.

    Args:
        client: the settings without one; whether it is encrypted stays as they say.
        user: its name.
        password: its password.
        mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
    """
    protocol = client.get("security.protocol", "PLAINTEXT")
    login = f'{_MODULES[mechanism]} required username="{_quoted(user)}" password="{_quoted(password)}";'
    return {
        **client,
        "security.protocol": _SECURED.get(protocol, protocol),
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": login,
    }


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
