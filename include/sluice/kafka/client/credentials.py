"""Who connects and how, as settings of a client under Kafka's names: what Java and Python read alike."""

from __future__ import annotations

from collections.abc import Mapping

from sluice.secrecy.secret_values import SecretSource

_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_SECURED = {"PLAINTEXT": "SASL_PLAINTEXT", "SSL": "SASL_SSL"}
BY_TOKEN = "OAUTHBEARER"  # noqa: S105 - the name of a mechanism
TOKEN_ENDPOINT = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105 - the name of a setting
TOKEN_SCOPE = "sasl.oauthbearer.scope"  # noqa: S105 - the name of a setting
CLIENT_ID = "sasl.oauthbearer.client.credentials.client.id"
CLIENT_SECRET = "sasl.oauthbearer.client.credentials.client.secret"  # noqa: S105 - the name of a setting
TOKEN_AUTHORITIES = "sluice.token.ca.location"  # noqa: S105 - the name of a setting
"""The authorities of the token endpoint: Kafka has no setting for them, but an option of its login module."""

LOGIN_SOURCE = "sluice.login.source"
"""Where the password, or the client's secret, is read again with each login: a `SecretSource` as text."""


def encrypted(
    client: Mapping[str, str],
    *,
    ca: str | None = None,
    certificate: str | None = None,
    key: str | None = None,
    key_password: str | None = None,
    verify_hostname: bool = True,
) -> dict[str, str]:
    """Return client settings whose connections are encrypted.

    Args:
        client: the settings without that.
        ca: a file of authorities in PEM; None: those that the machine trusts.
        certificate: the client's own, a file in PEM.
        key: its private key, a file in PEM; None: in the certificate's file.
        key_password: of the private key; None: it is not encrypted.
        verify_hostname: whether a broker's certificate has to name the address that is connected to.
    """
    files = {
        "ssl.ca.location": ca,
        "ssl.certificate.location": certificate,
        "ssl.key.location": key,
        "ssl.key.password": key_password,
        "ssl.endpoint.identification.algorithm": None if verify_hostname else "",
    }
    said = {name: value for name, value in files.items() if value is not None}
    return {**client, "security.protocol": "SSL", **said}


def as_user(
    client: Mapping[str, str], user: str, password: str, mechanism: str, *, source: SecretSource | None = None
) -> dict[str, str]:
    """Return client settings that connect as a user.

    Args:
        client: the settings without one; whether it is encrypted stays as they say.
        user: its name.
        password: its password.
        mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
        source: where each connection reads the password; None: it stays what it is.
    """
    login = f'{_MODULES[mechanism]} required username="{quoted(user)}" password="{quoted(password)}";'
    return {**_with_login(client, mechanism, source), "sasl.jaas.config": login}


def by_token(
    client: Mapping[str, str],
    user: str,
    secret: str,
    *,
    endpoint: str,
    scope: str | None = None,
    ca: str | None = None,
    source: SecretSource | None = None,
) -> dict[str, str]:
    """Return client settings that connect by tokens, which an endpoint gives for a client's credentials (OAuth 2).

    Args:
        client: the settings without a login; whether it is encrypted stays as they say.
        user: the client's id.
        secret: its secret.
        endpoint: the address that gives tokens.
        scope: what is asked for; None: what the endpoint gives by itself.
        ca: the authorities of the endpoint, a file in PEM; None: those that the machine trusts.
        source: where the secret is read for each token; None: it stays what it is.
    """
    settings = {TOKEN_ENDPOINT: endpoint, CLIENT_ID: user, CLIENT_SECRET: secret}
    further = {TOKEN_SCOPE: scope, TOKEN_AUTHORITIES: ca}
    said = {name: value for name, value in further.items() if value is not None}
    return {**_with_login(client, BY_TOKEN, source), **settings, **said}


def quoted(text: str) -> str:
    """Return a value as it stands between the quotes of an option of Java's login modules."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _with_login(client: Mapping[str, str], mechanism: str, source: SecretSource | None) -> dict[str, str]:
    protocol = client.get("security.protocol", "PLAINTEXT")
    again = {} if source is None else {LOGIN_SOURCE: str(source)}
    return {**client, "security.protocol": _SECURED.get(protocol, protocol), "sasl.mechanism": mechanism, **again}
